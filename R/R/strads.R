# Paths of penalised linear models, with glmnet's verbs.

# Warns of the points of a path that did not reach `thresh`.
warn_of_points <- function(what, lambda, gap, thresh) {
    short <- which(!(gap <= thresh))
    if (length(short)) {
        worst <- short[which.max(gap[short])]
        warning(what, ": ", length(short), " of ", length(gap),
                " points did not converge: relative gap ",
                format(gap[worst], digits = 3), " at lambda = ",
                format(lambda[worst], digits = 6),
                ", expected at most thresh = ", format(thresh),
                "; scale the columns, leave out lambdas as small as this ",
                "one or raise thresh", call. = FALSE)
    }
}

# Raises an interrupt condition, with the points so far as `fit`.
interrupt <- function(fit)
    stop(structure(class = c("strads.interrupt", "interrupt", "condition"),
                   list(message = "interrupted", call = NULL, fit = fit)))

strads <- function(x, y, family = "gaussian", weights = NULL, offset = NULL,
                   alpha = 1, nlambda = 100, lambda.min.ratio = NULL,
                   lambda = NULL, standardize = TRUE, intercept = TRUE,
                   thresh = 1e-4, dfmax = NULL, exclude = NULL,
                   penalty.factor = NULL, lower.limits = -Inf,
                   upper.limits = Inf, threads = 1, devmax = 0.999,
                   fdev = 1e-5, power = 1.5, relax = FALSE, data = NULL,
                   tau = 0.5, ties = c("breslow", "efron"), strata = NULL,
                   subset = NULL, ...) {
    call <- match.call()
    family <- family_name(family)
    check_dots(family, ...)
    yes_or_no("relax", relax)
    env <- parent.frame()
    given <- read_input(x, y, data, weights, offset, strata, call, env,
                        unique_columns(lambda, intercept))
    if (!given$intercept)
        intercept <- FALSE
    only_for("power", !missing(power), family, "tweedie")
    only_for("tau", !missing(tau), family, "quantile")
    only_for("ties", !missing(ties), family, "cox")
    only_for("strata", !is.null(given$strata), family, "cox")
    check_parameters(alpha, nlambda, lambda.min.ratio, standardize, intercept,
                     thresh, threads, devmax, fdev, dfmax)
    if (family == "tweedie")
        number("power", power, "a number above 1 and below 2",
               function(v) v > 1 && v < 2)
    if (family == "quantile")
        number("tau", tau, "a number above 0 and below 1",
               function(v) v > 0 && v < 1)
    d <- design(given$x, given$y, family, given$weights, given$offset,
                given$strata)
    if (is.null(lambda))
        check_constant(d, family, intercept)
    if (is.null(lambda.min.ratio))
        lambda.min.ratio <- if (nrow(d$x) < ncol(d$x)) 0.01 else 1e-4
    if (!is.null(lambda)) {
        if (!is.numeric(lambda) || length(lambda) == 0 ||
            any(!is.finite(lambda)) || any(lambda < 0))
            stop("lambda: expected numbers from 0 up", call. = FALSE)
        lambda <- sort(as.double(lambda), decreasing = TRUE)
    }
    if (family == "cox")
        intercept <- TRUE # the library centres columns with it, and drops it
    settings <- list(
        loss = loss_name(family, ties),
        parameter = switch(family, tweedie = as.double(power),
                           quantile = as.double(tau)),
        alpha = as.double(alpha), points = nlambda, ratio = lambda.min.ratio,
        lambda = lambda, standardize = standardize, intercept = intercept,
        lower = bound("lower.limits", lower.limits, ncol(d$x)),
        upper = bound("upper.limits", upper.limits, ncol(d$x)),
        thresh = thresh, threads = threads, devmax = devmax, fdev = fdev)
    f <- factors(penalty.factor, exclude, ncol(d$x))
    p <- problem(d, family, settings, f)
    fit <- run_problem(p)
    if (fit$interrupted && length(fit$lambda) == 0)
        interrupt(NULL)
    made <- as_path(fit, p, dfmax)
    made$call <- call
    made$env <- env
    made$sums <- data_sums(d)
    if (family == "cox" || identical(lambda, 0))
        made$data <- d # of survival curves, or standard errors
    made$frame <- given$frame
    made$kept <- f$kept
    made$limited <- is_finite_limit(settings$lower) ||
        is_finite_limit(settings$upper)
    made$offset <- !is.null(given$offset)
    made$intercept <- intercept && family != "cox"
    made$parameter <- settings$parameter
    made$loss <- settings$loss
    if (fit$interrupted)
        interrupt(made)
    if (relax)
        made$relaxed <- relaxed_path(made, d, settings)
    warn_of_points("path", made$lambda, made$gap, thresh)
    made
}

# The library's name for the loss of a family.
loss_name <- function(family, ties = "breslow")
    switch(family, gaussian = , mgaussian = "squared", binomial = "logistic",
           cox = switch(match.arg(ties, c("breslow", "efron")),
                        breslow = "cox", efron = "cox-efron"),
           family)

# A path; a fit without a penalty is one of its own.
run_problem <- function(p) {
    alone <- identical(p$settings$lambda, 0) && p$family != "mgaussian"
    if (!alone && p$family != "multinomial")
        return(in_words_of_r(.Call(C_path, handed_over(p$d), p$settings)))
    p$settings$factor <- if (!alone) p$settings$factor
    fit <- in_words_of_r(.Call(C_classes, handed_over(p$d), p$settings))
    if (p$family == "multinomial" || length(fit$lambda) == 0)
        return(fit)
    on <- which(fit$beta != 0)
    fit$i <- on - 1L
    fit$p <- c(0L, length(on))
    fit$x <- fit$beta[on]
    fit$deviance <- 2 * sum(p$w) * fit$deviance
    fit
}

# The coefficients of a fit without a penalty on the columns of each point; the
# point's own where there are more than n - 3 of them, as they would not be
# unique.
relaxed_path <- function(made, d, settings) {
    if (made$family %in% c("multinomial", "mgaussian"))
        stop("relax: family \"", made$family, "\" has no relaxed fits",
             call. = FALSE)
    settings$lambda <- 0
    settings$alpha <- 1
    settings$thresh <- min(settings$thresh, 1e-9)
    settings$devmax <- settings$fdev <- 0
    a0 <- made$a0
    beta <- as.matrix(made$beta)
    sets <- apply(beta != 0, 2, function(on) paste(which(on), collapse = " "))
    for (one in unique(sets)) {
        at <- which(sets == one)
        on <- which(beta[, at[1]] != 0)
        if (length(on) == 0 || length(on) > nrow(d$x) - 3)
            next
        p <- problem(d, made$family, settings, list(kept = on, factor = NULL))
        fit <- run_problem(p)
        if (fit$interrupted)
            interrupt(made)
        again <- as_path(fit, p, NULL)
        a0[at] <- again$a0
        beta[, at] <- as.matrix(again$beta)
    }
    list(a0 = a0, beta = sparse(beta))
}

# The problem that the library solves, for glmnet's: of y in units of its
# deviation (gaussian, with an L2 part), without the columns that are left out,
# and with columns scaled here where the library's scale is another one.
problem <- function(d, family, settings, f) {
    whole <- list(names = d$names, kept = f$kept)
    d$unit <- 1
    d$scale <- NULL
    if (length(f$kept) < ncol(d$x))
        d$x <- d$x[, f$kept, drop = FALSE]
    w <- if (is.null(d$weights)) rep(1, nrow(d$x)) else d$weights
    null <- null_deviance(d, w, family, settings)
    if (family == "mgaussian")
        return(c(stacked(d, w, settings, f),
                 list(family = family, whole = whole, w = w, null = null)))
    if (family == "gaussian") {
        if (!is.null(d$offset))
            d$y <- d$y - d$offset
        d$offset <- NULL
        if (settings$alpha < 1) {
            unit <- sqrt(sum(w * (d$y - sum(w * d$y) / sum(w))^2) / sum(w))
            d$unit <- if (unit > 0) unit else 1
            d$y <- d$y / d$unit
            if (!is.null(settings$lambda))
                settings$lambda <- settings$lambda / d$unit
        }
        for (k in c("lower", "upper"))
            if (is_finite_limit(settings[[k]]))
                settings[[k]] <- settings[[k]] / d$unit
    }
    if (family == "multinomial" &&
        (settings$lower > -.Machine$double.xmax ||
         settings$upper < .Machine$double.xmax))
        stop("family \"multinomial\" takes no limits", call. = FALSE)
    if (settings$standardize &&
        (!settings$intercept || family == "multinomial")) {
        if (any(!(abs(c(settings$lower, settings$upper)) %in%
                  c(0, .Machine$double.xmax))))
            stop("limits: expected 0 and infinite ones without an intercept; ",
                 "or use standardize = FALSE", call. = FALSE)
        d$scale <- deviations(d$x, d$weights)
        d$x <- if (is.matrix(d$x)) sweep(d$x, 2, d$scale, "/")
               else as(d$x %*% Diagonal(x = 1 / d$scale), "CsparseMatrix")
        settings$standardize <- FALSE
    }
    settings$factor <- f$factor
    settings$null <- null / (2 * sum(w))
    list(d = d, family = family, settings = settings, whole = whole, w = w,
         null = null)
}

# Twice the loss of each row at linear predictors z, for numbers.
row_deviance <- function(family, y, z, power = 1.5) {
    ylogy <- function(y) ifelse(y > 0, y * log(y), 0)
    switch(family,
           gaussian = (y - z)^2,
           quantile = 2 * pmax(power * (y - z), (power - 1) * (y - z)),
           binomial = 2 * (pmax(z, 0) + log1p(exp(-abs(z))) - y * z),
           poisson = 2 * (exp(z) - y * z - y + ylogy(y)),
           gamma = 2 * (z - log(y) - 1 + y * exp(-z)),
           tweedie = 2 * (y^(2 - power) / ((1 - power) * (2 - power)) -
                          y * exp((1 - power) * z) / (1 - power) +
                          exp((2 - power) * z) / (2 - power)))
}

# The deviance of the intercept and offset alone.
null_deviance <- function(d, w, family, settings) {
    y <- d$y
    o <- if (is.null(d$offset)) rep(0, NROW(y)) else d$offset
    p <- if (is.null(settings$parameter)) 1.5 else settings$parameter
    if (family == "multinomial") {
        share <- tapply(w, y, sum) / sum(w)
        return(if (settings$intercept)
            -2 * sum(w) * sum(share * log(share))
            else 2 * sum(w) * log(length(share)))
    }
    if (family == "cox")
        return(2 * .Call(C_loss, handed_over(d), settings, as.double(o)))
    if (family == "mgaussian") {
        centre <- if (settings$intercept) colSums(w * y) / sum(w)
                  else rep(0, ncol(y))
        return(sum(w * sweep(y, 2, centre)^2))
    }
    b <- if (!settings$intercept) 0 else switch(
        family,
        quantile = lower_quantile(y - o, w, p),
        gaussian = sum(w * (y - o)) / sum(w),
        poisson = log(sum(w * y) / sum(w * exp(o))),
        gamma = log(sum(w * y * exp(-o)) / sum(w)),
        tweedie = log(sum(w * y * exp((1 - p) * o)) /
                      sum(w * exp((2 - p) * o))),
        binomial = {
            b <- stats::qlogis(sum(w * y) / sum(w))
            if (any(o != 0))
                stats::uniroot(function(b)
                    sum(w * (y - stats::plogis(b + o))),
                    b - range(o)[2:1] + c(-1e-3, 1e-3), tol = 1e-12)$root
            else b
        })
    sum(w * row_deviance(family, y, o + b, p))
}

# The least number below or at which the rows have the share p of all weights.
lower_quantile <- function(y, w, p) {
    at <- order(y)
    y[at][which(cumsum(w[at]) >= p * sum(w) * (1 - 1e-12))[1]]
}

# Converts a result of .Call to an object of class "strads".
as_path <- function(fit, p, dfmax) {
    d <- p$d
    n <- length(fit$lambda)
    if (p$family == "multinomial")
        return(as_classes(fit, p, dfmax))
    if (p$family == "mgaussian")
        return(as_responses(fit, p, dfmax))
    beta <- sparseMatrix(i = p$whole$kept[fit$i + 1], p = fit$p,
                         x = fit$x * d$unit /
                             (if (is.null(d$scale)) 1 else d$scale[fit$i + 1]),
                         dims = c(length(p$whole$names), n),
                         dimnames = list(p$whole$names,
                                         paste0("s", seq_len(n) - 1)))
    cut_path(list(family = p$family, classes = d$classes,
                  a0 = fit$a0 * d$unit, beta = beta,
                  lambda = fit$lambda * d$unit, df = diff(fit$p),
                  dev.ratio = 1 - fit$deviance * d$unit^2 / p$null,
                  nulldev = p$null, gap = fit$gap, dim = dim(beta),
                  nobs = nrow(d$x)), dfmax)
}

as_classes <- function(fit, p, dfmax) {
    d <- p$d
    n <- length(fit$lambda)
    steps <- paste0("s", seq_len(n) - 1)
    values <- array(fit$beta, c(ncol(d$x), fit$width, n))
    if (!is.null(d$scale))
        values <- values / d$scale
    beta <- lapply(stats::setNames(seq_len(fit$width), d$classes), function(k) {
        part <- matrix(0, length(p$whole$names), n,
                       dimnames = list(p$whole$names, steps))
        part[p$whole$kept, ] <- values[, k, ]
        as(as(as(part, "dMatrix"), "generalMatrix"), "CsparseMatrix")
    })
    a0 <- matrix(fit$a0, fit$width, n, dimnames = list(d$classes, steps))
    on <- Reduce(`|`, lapply(beta, function(b) as.matrix(b != 0)))
    cut_path(list(family = p$family, classes = d$classes,
                  a0 = sweep(a0, 2, colMeans(a0)), beta = beta,
                  lambda = fit$lambda, df = colSums(on),
                  dev.ratio = 1 - 2 * sum(p$w) * fit$deviance / p$null,
                  nulldev = p$null, gap = fit$gap, dim = dim(beta[[1]]),
                  nobs = nrow(d$x)), dfmax)
}

# The points up to the first with more than dfmax columns.
cut_path <- function(fit, dfmax) {
    fit$df <- unname(fit$df)
    last <- length(fit$lambda)
    if (!is.null(dfmax) && any(fit$df > dfmax))
        last <- max(1, which(fit$df > dfmax)[1] - 1)
    if (last < length(fit$lambda)) {
        k <- seq_len(last)
        for (part in c("lambda", "df", "dev.ratio", "gap"))
            fit[[part]] <- fit[[part]][k]
        fit$a0 <- if (is.matrix(fit$a0)) fit$a0[, k, drop = FALSE]
                  else fit$a0[k]
        fit$beta <- if (is.list(fit$beta))
            lapply(fit$beta, function(b) b[, k, drop = FALSE])
            else fit$beta[, k, drop = FALSE]
        fit$dim[2] <- last
    }
    structure(fit, class = "strads")
}
