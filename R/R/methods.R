# Methods of a path: coefficients, predictions, prints, plots, standard errors.

print.strads <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    cat("\nCall: ", paste(deparse(x$call), collapse = "\n"), "\n\n")
    explained <- 100 * x$dev.ratio
    explained[abs(explained) < 1e-9] <- 0 # rounding of the null model
    print(cbind(Df = x$df, "%Dev" = signif(explained, digits),
                Lambda = signif(x$lambda, digits)))
    invisible(x)
}

# Columns of `all` at s, by linear interpolation between points of the path.
interpolate <- function(all, lambda, s) {
    at <- pmin(pmax(as.double(s), min(lambda)), max(lambda))
    place <- if (length(lambda) == 1) rep(1, length(at))
             else stats::approx(lambda, seq_along(lambda), at, ties = mean)$y
    low <- floor(place)
    high <- ceiling(place)
    share <- place - low
    all <- sweep(all[, low, drop = FALSE], 2, 1 - share, "*") +
        sweep(all[, high, drop = FALSE], 2, share, "*")
    colnames(all) <- paste0("s", seq_along(at))
    all
}

check_penalties <- function(s) {
    if (is.null(s))
        return()
    if (is.character(s))
        refuse("s", s, "penalties, numbers from 0 up; names are for cv.strads()")
    if (!is.numeric(s) || length(s) == 0 || any(!is.finite(s)) || any(s < 0))
        refuse("s", s, "penalties, numbers from 0 up")
}

sparse <- function(x) as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")

# The fit at s too: fitted again, with the arguments of its call, which are found
# where the fit was made.
exact_fit <- function(object, s, exact, ...) {
    check_penalties(s)
    yes_or_no("exact", exact)
    if (!exact || is.null(s) || all(s %in% object$lambda))
        return(object)
    again <- object$call
    again[[1]] <- strads
    given <- list(...)
    for (name in names(given))
        again[[name]] <- given[[name]]
    again$lambda <- sort(unique(c(object$lambda, s)), decreasing = TRUE)
    made <- tryCatch(eval(again, object$env), error = function(e)
        stop("exact = TRUE fits again, and this failed: ", conditionMessage(e),
             "; give x, y and other data of the fit as arguments",
             call. = FALSE))
    # with a penalty a factor has other columns than without one
    if (!same_data(made$sums, object$sums,
                   is.null(object$frame) || !identical(object$lambda, 0)))
        stop("exact = TRUE fits again, and the data have changed since the ",
             "fit: give x, y and other data of the fit as arguments",
             call. = FALSE)
    made
}

# The mixture of a fit and its relaxed one, which has the share 1 - gamma.
mixed <- function(object, gamma) {
    number("gamma", gamma, "a number from 0 to 1",
           function(v) v >= 0 && v <= 1)
    if (gamma == 1)
        return(object)
    if (is.null(object$relaxed))
        stop("gamma is ", gamma, ": the fit has no relaxed one, expected ",
             "relax = TRUE in the fit", call. = FALSE)
    object$a0 <- gamma * object$a0 + (1 - gamma) * object$relaxed$a0
    object$beta <- gamma * object$beta + (1 - gamma) * object$relaxed$beta
    object
}

# A fit of times has no intercept, and no row of it.
coef.strads <- function(object, s = NULL, exact = FALSE, gamma = 1, ...) {
    object <- exact_fit(object, s, exact, ...)
    without_intercept(object, coefficients_at(object, s, gamma))
}

without_intercept <- function(object, b)
    if (object$family == "cox") b[-1, , drop = FALSE] else b

# Coefficients at s below an intercept; a list for several classes or responses.
coefficients_at <- function(object, s, gamma) {
    object <- mixed(object, gamma)
    one <- function(a0, beta) {
        all <- rbind(matrix(a0, 1, dimnames = list("(Intercept)", NULL)),
                     as.matrix(beta))
        sparse(if (is.null(s)) all else interpolate(all, object$lambda, s))
    }
    if (!is.list(object$beta))
        return(one(object$a0, object$beta))
    lapply(stats::setNames(nm = object$classes),
           function(k) one(object$a0[k, ], object$beta[[k]]))
}

predict.strads <- function(object, newx, s = NULL,
                           type = c("link", "response", "class",
                                    "coefficients", "nonzero", "risk",
                                    "survival"),
                           exact = FALSE, newoffset = NULL, gamma = 1,
                           times = NULL, newstrata = NULL, ...) {
    type <- match.arg(type)
    if (type %in% c("risk", "survival") && object$family != "cox")
        stop("type \"", type, "\" is for family \"cox\"", call. = FALSE)
    if (type != "survival" && !(is.null(times) && is.null(newstrata)))
        stop("times and newstrata are for type \"survival\"", call. = FALSE)
    object <- exact_fit(object, s, exact, ...)
    b <- coefficients_at(object, s, gamma)
    if (type == "coefficients")
        return(without_intercept(object, b))
    if (type == "nonzero") {
        on <- function(b)
            lapply(seq_len(ncol(b)), function(k) which(b[-1, k] != 0))
        return(if (is.list(b)) lapply(b, on) else on(b))
    }
    if (type == "class" && !(object$family %in% c("binomial", "multinomial")))
        stop("type \"class\" is for families binomial and multinomial",
             call. = FALSE)
    if (missing(newx))
        stop("newx is missing: the rows to predict", call. = FALSE)
    newx <- new_rows(object, newx)
    columns <- object$dim[1]
    if (ncol(newx) != columns)
        stop("newx has ", ncol(newx), " columns and the model ", columns,
             call. = FALSE)
    if (object$offset && is.null(newoffset))
        stop("newoffset is missing: the fit has an offset", call. = FALSE)
    if (!is.null(newoffset) && length(newoffset) != nrow(newx))
        stop("newoffset has ", length(newoffset), " values and newx ",
             nrow(newx), " rows", call. = FALSE)
    link <- function(b) as.matrix(newx %*% b[-1, , drop = FALSE]) +
        rep(as.double(b[1, ]), each = nrow(newx)) +
        (if (is.null(newoffset)) 0 else newoffset)
    if (type == "survival")
        return(survival_of(object, link(b), b, times, newstrata))
    if (!is.list(b))
        return(of_link(object, link(b), type))
    z <- array(unlist(lapply(b, link)),
               c(nrow(newx), ncol(b[[1]]), length(b)))
    z <- aperm(z, c(1, 3, 2))
    dimnames(z) <- list(rownames(newx), object$classes, colnames(b[[1]]))
    of_classes(object, z, type)
}

of_link <- function(object, z, type) {
    if (type == "class")
        return(matrix(object$classes[(z > 0) + 1], nrow(z),
                      dimnames = dimnames(z)))
    if (type == "link")
        return(z)
    switch(object$family, gaussian = , quantile = z, binomial = stats::plogis(z), exp(z))
}

# z[rows, classes or responses, points]
of_classes <- function(object, z, type) {
    if (type == "link" || object$family == "mgaussian")
        return(z)
    top <- apply(z, c(1, 3), max)
    p <- z
    for (k in seq_len(dim(z)[2]))
        p[, k, ] <- exp(z[, k, ] - top)
    if (type == "class")
        return(matrix(object$classes[apply(p, c(1, 3), which.max)],
                      dim(z)[1], dimnames = dimnames(z)[c(1, 3)]))
    sums <- apply(p, c(1, 3), sum)
    for (k in seq_len(dim(p)[2]))
        p[, k, ] <- p[, k, ] / sums
    p
}

deviance.strads <- function(object, ...) (1 - object$dev.ratio) * object$nulldev

plot.strads <- function(x, xvar = c("lambda", "norm", "dev"), label = 6, ...) {
    xvar <- match.arg(xvar)
    if (!is.list(x$beta))
        plot_paths(x, as.matrix(x$beta), xvar, label, "coefficient", ...)
    else
        for (k in x$classes)
            plot_paths(x, as.matrix(x$beta[[k]]), xvar, label,
                       paste("coefficient of", k), ...)
    invisible(x)
}

plot_paths <- function(x, beta, xvar, label, ylab, ...) {
    at <- switch(xvar, lambda = log(pmax(x$lambda, 1e-300)),
                 norm = colSums(abs(beta)), dev = x$dev.ratio)
    drawn <- which(rowSums(beta != 0) > 0)
    lines <- if (length(drawn)) t(beta[drawn, , drop = FALSE])
             else matrix(0, length(at), 1)
    graphics::matplot(at, lines, type = if (length(at) == 1) "p" else "l",
                      lty = 1, pch = 20, ylab = ylab,
                      xlab = switch(xvar, lambda = "log lambda",
                                    norm = "L1 norm",
                                    dev = "share of deviance explained"), ...)
    marks <- pretty(at)
    axis(3, at = marks, labels = if (length(unique(at)) == 1) rep(x$df[1],
                                     length(marks))
         else round(stats::approx(at, x$df, marks, rule = 2,
                                  ties = mean)$y))
    last <- beta[drawn, ncol(beta)]
    named <- drawn[order(-abs(last))][seq_len(min(label, length(drawn)))]
    if (length(named))
        axis(4, at = beta[named, ncol(beta)], labels = rownames(beta)[named],
             las = 1, cex.axis = 0.7, tick = FALSE, line = -0.8)
}
