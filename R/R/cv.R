# Cross-validation of a path.

measures <- c(mse = "Mean-Squared Error", deviance = "Deviance",
              class = "Misclassification Error", auc = "AUC",
              mae = "Mean Absolute Error", C = "C-index")

# The measure of a family, by its name or "default".
check_measure <- function(type, family) {
    fits <- switch(family, binomial = setdiff(names(measures), "C"),
                   multinomial = c("mse", "deviance", "class", "mae"),
                   cox = c("deviance", "C"),
                   c("mse", "deviance", "mae"))
    squared <- family %in% c("gaussian", "mgaussian")
    type <- if (identical(type, "default")) {
        if (squared) "mse" else "deviance"
    } else if (is.character(type) && length(type) == 1) type else NA
    if (!(type %in% fits))
        refuse("type.measure", type,
               paste0("\"default\", ", paste0("\"", fits, "\"",
                                              collapse = ", "),
                      " for family \"", family, "\""))
    if (squared && type == "deviance") "mse" else type
}

measure_name <- function(type, family)
    if (type != "deviance") measures[[type]] else
        paste(c(binomial = "Binomial", poisson = "Poisson",
                multinomial = "Multinomial", gamma = "Gamma",
                tweedie = "Tweedie", quantile = "Quantile",
                cox = "Partial Likelihood")[[family]], "Deviance")

# Folds from 1 on, those of each class apart, if `classes`.
draw_folds <- function(y, classes, nfolds, seed) {
    had <- if (exists(".Random.seed", globalenv()))
        get(".Random.seed", globalenv())
    on.exit(if (!is.null(had)) assign(".Random.seed", had, globalenv())
            else rm(".Random.seed", envir = globalenv()))
    set.seed(seed %% .Machine$integer.max, "Mersenne-Twister", "Inversion",
             "Rejection")
    n <- NROW(y)
    folds <- integer(n)
    order <- if (classes) order(y, sample(n)) else sample(n)
    folds[order] <- rep(seq_len(nfolds), length.out = n)
    folds
}

check_folds <- function(foldid, n) {
    if (!is.numeric(foldid) || length(foldid) != n || anyNA(foldid) ||
        any(foldid != round(foldid)) || any(foldid < 1))
        stop("foldid: expected ", n, " whole numbers from 1 up", call. = FALSE)
    if (length(unique(foldid)) < 2)
        stop("foldid: all rows are of one fold, expected two at least",
             call. = FALSE)
    match(foldid, sort(unique(foldid)))
}

cv.strads <- function(x, y, family = "gaussian", weights = NULL, offset = NULL,
                      nfolds = 10, alpha = 1, nlambda = 100,
                      lambda.min.ratio = NULL, lambda = NULL,
                      type.measure = "default", foldid = NULL, keep = FALSE,
                      threads = 1, seed = 0, data = NULL, strata = NULL,
                      subset = NULL, gamma = c(0, 0.25, 0.5, 0.75, 1), ...) {
    call <- match.call()
    more <- list(...)
    env <- parent.frame()
    input <- read_input(x, y, data, weights, offset, strata, call, env,
                        unique_columns(lambda, more$intercept))
    if (!input$intercept)
        more$intercept <- FALSE
    family <- family_name(family)
    type <- check_measure(type.measure, family)
    number("nfolds", nfolds, "a whole number from 2 up",
           function(v) v >= 2 && v < 2^31, TRUE)
    number("seed", seed, "a whole number from 0 up",
           function(v) v >= 0 && v <= 2^53, TRUE)
    yes_or_no("keep", keep)
    gamma <- check_gamma(gamma)
    given <- c(list(family = family, alpha = alpha, threads = threads), more)
    fit <- do.call(strads, c(list(input$x, input$y, weights = input$weights,
                                  offset = input$offset,
                                  strata = input$strata, nlambda = nlambda,
                                  lambda.min.ratio = lambda.min.ratio,
                                  lambda = lambda), given), quote = TRUE)
    fit$env <- env
    fit$call <- call
    fit$call[[1]] <- quote(strads)
    fit$call <- fit$call[!(names(call) %in% c("nfolds", "type.measure",
                                              "foldid", "keep", "seed",
                                              "gamma"))]
    fit$frame <- input$frame
    d <- design(input$x, input$y, family, input$weights, input$offset,
                input$strata)
    n <- nrow(d$x)
    if (!is.null(foldid)) {
        foldid <- check_folds(foldid, NROW(input$x))
        if (!is.null(d$kept))
            foldid <- match(foldid[d$kept], sort(unique(foldid[d$kept])))
    } else {
        if (nfolds > n)
            refuse("nfolds", nfolds, paste("at most", n, "rows with a weight"))
        foldid <- if (family == "cox") # each has its share of the events
            draw_folds(has_event(d$y), TRUE, nfolds, seed)
            else draw_folds(d$y, !is.null(d$classes), nfolds, seed)
    }
    # the library has one scale for all folds, glmnet one for each
    arguments <- utils::modifyList(formals_of_fit(), given)
    scaled <- family %in% c("multinomial", "mgaussian") ||
        family == "gaussian" && alpha < 1 ||
        family != "cox" && arguments$standardize && !arguments$intercept
    loss <- type == "deviance" || type == "mse" && family == "gaussian"
    if (loss && !keep && !scaled && is.null(fit$relaxed))
        return(summed_up(fold_losses(fit, d, arguments, foldid), fit, call,
                         type, family, keep, foldid))
    fits <- fold_fits(fit, d, given, foldid)
    made <- summed_up(fold_measures(fit, d, fits, foldid, type, keep), fit,
                      call, type, family, keep, foldid)
    if (is.null(fit$relaxed))
        return(made)
    made$relaxed <- chosen_mixture(gamma, type, fit$lambda, function(g)
        fold_measures(fit, d, fits, foldid, type, FALSE, g))
    structure(made, class = c("cv.strads.relaxed", class(made)))
}

check_gamma <- function(gamma) {
    if (!is.numeric(gamma) || length(gamma) == 0 || anyNA(gamma) ||
        any(gamma < 0 | gamma > 1))
        refuse("gamma", gamma, "numbers from 0 to 1")
    sort(unique(as.double(gamma)))
}

# The gamma and lambda of the least error, and the largest lambda, then gamma,
# within a standard error of it.
chosen_mixture <- function(gamma, type, lambda, measured) {
    sign <- if (type %in% c("auc", "C")) -1 else 1
    errors <- lapply(gamma, measured)
    cvm <- vapply(errors, `[[`, lambda, "cvm")
    cvsd <- vapply(errors, `[[`, lambda, "cvsd")
    dim(cvm) <- dim(cvsd) <- c(length(lambda), length(gamma))
    at <- function(good) { # the first row of it, and there the last column
        row <- which(rowSums(good) > 0)[1]
        c(row, max(which(good[row, ])))
    }
    min <- at(sign * cvm == min(sign * cvm))
    bound <- sign * cvm[min[1], min[2]] + cvsd[min[1], min[2]]
    se <- at(sign * cvm <= bound)
    list(gamma = gamma, lambda = lambda, cvm = cvm, cvsd = cvsd,
         lambda.min = lambda[min[1]], gamma.min = gamma[min[2]],
         lambda.1se = lambda[se[1]], gamma.1se = gamma[se[2]],
         index = matrix(c(min, se), 2, byrow = TRUE, dimnames =
             list(c("min", "1se"), c("Lambda", "Gamma"))))
}

# Losses of the folds by the library, which fits several at once.
fold_losses <- function(fit, d, arguments, foldid) {
    settings <- list(
        loss = fit$loss, parameter = fit$parameter, alpha = as.double(arguments$alpha),
        lambda = fit$lambda, standardize = arguments$standardize,
        intercept = arguments$intercept || fit$family == "cox",
        lower = bound("lower.limits", arguments$lower.limits, ncol(d$x)),
        upper = bound("upper.limits", arguments$upper.limits, ncol(d$x)),
        thresh = arguments$thresh, threads = arguments$threads)
    p <- problem(d, fit$family, settings,
                 factors(arguments$penalty.factor, arguments$exclude,
                         ncol(d$x)))
    file <- tempfile("folds")
    on.exit(unlink(file))
    writeLines(format(foldid, scientific = FALSE, trim = TRUE), file)
    p$settings$file <- file
    p$settings$folds <- 2
    cv <- in_words_of_r(.Call(C_cv, handed_over(p$d), p$settings))
    if (cv$interrupted)
        interrupt(fit)
    warn_of_points("folds' paths", fit$lambda, cv$gap, p$settings$thresh)
    list(cvm = cv$error, cvsd = cv$deviation)
}

formals_of_fit <- function()
    lapply(as.list(formals(strads))[c("standardize", "intercept", "thresh",
                                      "threads", "alpha", "lower.limits",
                                      "upper.limits")], eval)

# The response as strads() takes it.
response_of <- function(fit, d) {
    if (!is.null(d$classes)) factor(d$classes[d$y + 1], d$classes)
    else if (fit$family == "cox") time_matrix(d$y)
    else d$y
}

# A path without the rows of each fold.
fold_fits <- function(fit, d, given, foldid) {
    y <- response_of(fit, d)
    lapply(seq_len(max(foldid)), function(f) {
        on <- foldid != f
        if (!is.null(d$classes) &&
            length(unique(y[on])) < length(d$classes))
            stop("without the rows of fold ", f, " a class has no rows; use ",
                 "fewer folds", call. = FALSE)
        do.call(strads, c(list(d$x[on, , drop = FALSE], rows_of(y, on),
                               weights = d$weights[on], offset = d$offset[on],
                               strata = d$stratum[on], lambda = fit$lambda),
                          given), quote = TRUE)
    })
}

# The measure of the folds' predictions.
fold_measures <- function(fit, d, fits, foldid, type, keep, gamma = 1) {
    w <- if (is.null(d$weights)) rep(1, nrow(d$x)) else d$weights
    y <- response_of(fit, d)
    kept <- NULL
    folds <- lapply(seq_along(fits), function(f) {
        out <- foldid == f
        if (fit$family == "cox") {
            z <- predict(fits[[f]], d$x, newoffset = d$offset, gamma = gamma)
            return(list(out = out, mean = z[out, , drop = FALSE],
                        error = time_errors(fit, d, w, out, z, type)))
        }
        mean <- predict(fits[[f]], d$x[out, , drop = FALSE], type = "response",
                        newoffset = d$offset[out], gamma = gamma)
        list(out = out, mean = mean,
             error = row_errors(fit, rows_of(y, out), mean, type, w[out]))
    })
    counts <- if (fit$family == "cox" && type == "deviance")
        w * has_event(d$y) else w
    size <- vapply(folds, function(f) sum(counts[f$out]), 0)
    error <- do.call(rbind, lapply(folds, function(f)
        if (type == "auc" || fit$family == "cox") f$error
        else colSums(f$error * w[f$out]) / sum(w[f$out])))
    cvm <- colSums(error * size) / sum(size)
    cvsd <- sqrt(colSums(sweep(error, 2, cvm)^2 * size) / sum(size) /
                 (length(folds) - 1))
    if (keep) {
        kept <- array(NA_real_, c(nrow(d$x), dim(folds[[1]]$mean)[-1]))
        for (f in folds) {
            if (length(dim(kept)) == 3)
                kept[f$out, , ] <- f$mean
            else kept[f$out, ] <- f$mean
        }
    }
    list(cvm = unname(cvm), cvsd = unname(cvsd), kept = kept)
}

# The error of a fold at the margins z of all rows: the concordance of its rows,
# or twice the loss of all rows minus that of the others, for each event's
# weight.
time_errors <- function(fit, d, w, out, z, type) {
    if (type == "C")
        return(concordance_of(d$y[out], z[out, , drop = FALSE], w[out],
                              d$stratum[out]))
    loss <- function(rows) {
        part <- list(start = 0L, index = integer(0), value = double(0),
                     dim = c(sum(rows), 1L), y = d$y[rows], weights = w[rows],
                     stratum = d$stratum[rows])
        apply(z[rows, , drop = FALSE], 2, function(margins)
            .Call(C_loss, part, list(loss = fit$loss), margins))
    }
    events <- sum(w[out] * has_event(d$y[out]))
    if (events > 0) 2 * (loss(rep(TRUE, length(out))) - loss(!out)) / events
    else rep(0, ncol(z))
}

# Errors of held-out rows, counted as in glmnet: [rows x points], or the auc of
# each point.
row_errors <- function(fit, y, mean, type, w) {
    away <- function(p) pmax(p, 1e-300)
    if (fit$family == "mgaussian") {
        gap <- array(y, dim(mean)) - mean
        return(apply(if (type == "mse") gap^2 else abs(gap), c(1, 3), sum))
    }
    if (fit$family == "multinomial") {
        on <- outer(as.integer(y), seq_along(fit$classes), `==`) * 1
        all <- array(on, dim(mean))
        return(switch(type,
            mse = apply((all - mean)^2, c(1, 3), sum),
            mae = apply(abs(all - mean), c(1, 3), sum),
            deviance = apply(-2 * all * log(away(mean)), c(1, 3), sum),
            class = apply(mean, c(1, 3), which.max) != as.integer(y)) |>
            matrix(nrow = dim(mean)[1]))
    }
    if (fit$family == "binomial") {
        y <- as.integer(y) - 1
        return(switch(type,
            mse = 2 * (y - mean)^2, mae = 2 * abs(y - mean),
            deviance = -2 * log(away(abs(1 - y - mean))),
            class = (mean > 0.5) != y,
            auc = apply(mean, 2, area_under_curve, y = y, w = w)))
    }
    switch(type, mse = (y - mean)^2, mae = abs(y - mean),
           deviance = row_deviance(fit$family, y,
                                   if (fit$family == "quantile") mean
                                   else log(mean), fit$parameter))
}

# The share of pairs of a positive and a negative row, by weight, that `p` has
# in order; ties count half.
area_under_curve <- function(p, y, w) {
    if (all(y == y[1]))
        stop("type.measure \"auc\": a fold has one class only; use fewer ",
             "folds", call. = FALSE)
    at <- order(p)
    group <- cumsum(c(TRUE, diff(p[at]) > 0))
    up <- rowsum(w[at] * y[at], group)
    down <- rowsum(w[at] * (1 - y[at]), group)
    sum(up * (cumsum(down) - down / 2)) / (sum(up) * sum(down))
}

summed_up <- function(cv, fit, call, type, family, keep, foldid) {
    cvm <- cv$cvm
    cvsd <- cv$cvsd
    sign <- if (type %in% c("auc", "C")) -1 else 1
    best <- which.min(sign * cvm)
    simplest <- which(sign * cvm <= sign * cvm[best] + cvsd[best])[1]
    structure(c(list(call = call, lambda = fit$lambda, cvm = cvm, cvsd = cvsd,
                     cvup = cvm + cvsd, cvlo = cvm - cvsd, nzero = fit$df,
                     name = stats::setNames(measure_name(type, family), type),
                     strads.fit = fit, lambda.min = fit$lambda[best],
                     lambda.1se = fit$lambda[simplest],
                     index = matrix(c(best, simplest), 2, dimnames = list(
                         c("min", "1se"), "Lambda"))),
                if (keep) list(fit.preval = cv$kept, foldid = foldid)),
              class = "cv.strads")
}

at_lambda <- function(object, s) {
    if (!is.character(s))
        return(s)
    if (!(length(s) == 1 && s %in% c("lambda.1se", "lambda.min")))
        refuse("s", s, "\"lambda.1se\", \"lambda.min\" or penalties")
    object[[s]]
}

# The penalty, and the share of the penalised fit: by default that of a named
# penalty, or "gamma.1se".
at_mixture <- function(object, s, gamma) {
    names <- c("gamma.1se", "gamma.min")
    if (is.null(gamma))
        gamma <- if (identical(s, "lambda.min")) names[2] else names[1]
    if (is.character(gamma)) {
        if (!(length(gamma) == 1 && gamma %in% names))
            refuse("gamma", gamma, "\"gamma.1se\", \"gamma.min\" or a number")
        gamma <- object$relaxed[[gamma]]
    }
    list(s = if (is.character(s)) at_lambda(object$relaxed, s) else s,
         gamma = gamma)
}

coef.cv.strads.relaxed <- function(object, s = "lambda.1se",
                            gamma = NULL, ...) {
    at <- at_mixture(object, s, gamma)
    coef(object$strads.fit, at$s, gamma = at$gamma, ...)
}

predict.cv.strads.relaxed <- function(object, newx, s = "lambda.1se",
                               gamma = NULL, ...) {
    at <- at_mixture(object, s, gamma)
    predict(object$strads.fit, newx, at$s, gamma = at$gamma, ...)
}

print.cv.strads.relaxed <- function(x, digits = max(3, getOption("digits") - 3),
                                    ...) {
    cat("\nCall: ", deparse(x$call), "\n\nMeasure:", x$name, "\n\n")
    at <- x$relaxed$index
    print(data.frame(Gamma = x$relaxed$gamma[at[, 2]],
                     Lambda = signif(x$relaxed$lambda[at[, 1]], digits),
                     Index = at[, 1],
                     Measure = signif(x$relaxed$cvm[at], digits),
                     SE = signif(x$relaxed$cvsd[at], digits),
                     Nonzero = x$nzero[at[, 1]], row.names = rownames(at)))
    invisible(x)
}

coef.cv.strads <- function(object, s = "lambda.1se", ...)
    coef(object$strads.fit, at_lambda(object, s), ...)

predict.cv.strads <- function(object, newx, s = "lambda.1se", ...)
    predict(object$strads.fit, newx, at_lambda(object, s), ...)

print.cv.strads <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    cat("\nCall: ", deparse(x$call), "\n\nMeasure:", x$name, "\n\n")
    at <- match(c(x$lambda.min, x$lambda.1se), x$lambda)
    print(data.frame(Lambda = signif(x$lambda[at], digits), Index = at,
                     Measure = signif(x$cvm[at], digits),
                     SE = signif(x$cvsd[at], digits), Nonzero = x$nzero[at],
                     row.names = c("min", "1se")))
    invisible(x)
}

plot.cv.strads <- function(x, sign.lambda = 1, ...) {
    at <- sign.lambda * log(pmax(x$lambda, 1e-300))
    shown <- list(...)
    usual <- list(x = at, y = x$cvm, ylim = range(x$cvlo, x$cvup),
                  xlab = if (sign.lambda > 0) "log lambda" else "-log lambda",
                  ylab = x$name, type = "n")
    do.call(plot, utils::modifyList(usual, shown))
    wide <- x$cvup > x$cvlo # arrows of no length warn
    if (any(wide))
        arrows(at[wide], x$cvlo[wide], at[wide], x$cvup[wide], angle = 90,
               code = 3, length = 0.02, col = "grey60")
    points(at, x$cvm, pch = 20, col = "firebrick")
    abline(v = at[x$index], lty = 3)
    axis(3, at = at, labels = x$nzero, tick = FALSE, line = -0.5)
    invisible(x)
}
