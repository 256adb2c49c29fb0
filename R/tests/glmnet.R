# Paths and cross-validations against glmnet, over random families of problems:
# glmnet's objective at our coefficients is compared with that at its own.
library(strads)
library(Matrix)
if (!requireNamespace("glmnet", quietly = TRUE))
    quit("no", 0)
suppressPackageStartupMessages(library(glmnet))

loss <- function(family, y, z, w) {
    if (family == "multinomial") {
        top <- apply(z, 1, max)
        k <- cbind(seq_len(nrow(z)), as.integer(factor(y)))
        return(sum(w * (log(rowSums(exp(z - top))) + top - z[k])) / sum(w))
    }
    sum(w * switch(family, gaussian = (y - z)^2 / 2,
                   binomial = log1p(exp(-abs(z))) + pmax(z, 0) - (y == "b") * z,
                   poisson = exp(z) - y * z)) / sum(w)
}

# glmnet's objective, with its penalty factors and its unit of y
objective <- function(p, a0, beta, lambda) {
    z <- sweep(as.matrix(p$x %*% beta), 2, a0, "+")
    if (!is.null(p$offset))
        z <- z + p$offset
    if (ncol(z) == 1)
        z <- drop(z)
    unit <- 1
    if (p$family == "gaussian") {
        r <- p$y - if (is.null(p$offset)) 0 else p$offset
        unit <- sqrt(sum(p$w * (r - sum(p$w * r) / sum(p$w))^2) / sum(p$w))
    }
    s <- if (p$standardize) {
        c <- as.vector(crossprod(p$x, p$w)) / sum(p$w)
        sqrt(as.vector(crossprod(p$x^2, p$w)) / sum(p$w) - c^2)
    } else rep(1, ncol(p$x))
    b <- as.matrix(beta) * s
    pf <- p$factor * length(p$factor) / sum(p$factor)
    loss(p$family, p$y, z, p$w) +
        lambda * sum(pf * (p$alpha * abs(b) + (1 - p$alpha) / 2 * b^2 / unit))
}

problem_of <- function(seed, family) {
    set.seed(seed)
    n <- sample(c(40, 90, 200), 1)
    p <- sample(c(2, 7, 30, 120), 1)
    x <- if (seed %% 2) matrix(rnorm(n * p, sample(0:1, 1)), n)
         else rsparsematrix(n, p, 0.4)
    x <- x %*% Diagonal(x = exp(rnorm(p) / 2))
    if (seed %% 2)
        x <- as.matrix(x)
    b <- rnorm(p) * (runif(p) < min(1, 5 / p))
    z <- as.vector(x %*% b)
    z <- z / max(1, sd(z))
    y <- switch(family, gaussian = exp(rnorm(1)) * (z + rnorm(n)),
                binomial = ifelse(z + rlogis(n) > 0, "b", "a"),
                poisson = rpois(n, exp(z / 2)),
                multinomial = letters[pmax(1, pmin(3, round(
                    2 + z + rnorm(n) / 2)))])
    list(x = x, y = y, family = family,
         w = if (seed %% 3) rep(1, n) else runif(n, 0.2, 2),
         alpha = sample(c(1, 1, 0.5, 0), 1), standardize = runif(1) < 0.5,
         intercept = runif(1) < 0.7,
         factor = if (seed %% 4) rep(1, p) else round(runif(p), 1) + 0.1,
         offset = if (family != "multinomial" && seed %% 5 == 0) rnorm(n) / 3,
         lower = if (family != "multinomial" && seed %% 7 == 0) 0 else -Inf)
}

worst <- 0
for (family in c("gaussian", "binomial", "poisson", "multinomial"))
    for (seed in 1:(if (family == "multinomial") 10 else 24)) {
        p <- problem_of(seed, family)
        if (family == "multinomial" && length(unique(p$y)) < 3)
            next
        given <- list(p$x, p$y, family, weights = p$w, offset = p$offset,
                      alpha = p$alpha, nlambda = 12, lambda.min.ratio = 0.02,
                      standardize = p$standardize, intercept = p$intercept,
                      penalty.factor = p$factor, lower.limits = p$lower)
        ours <- do.call(strads, c(given, thresh = 1e-9, devmax = 0, fdev = 0))
        theirs <- do.call(glmnet, c(given[names(given) != "lambda.min.ratio"],
                                    list(thresh = 1e-14, maxit = 1e7,
                                         lambda = ours$lambda)))
        at <- function(fit, k) if (is.list(fit$beta))
            objective(p, fit$a0[, k], sapply(fit$beta, function(b) b[, k]),
                      fit$lambda[k])
            else objective(p, fit$a0[k], fit$beta[, k, drop = FALSE],
                           fit$lambda[k])
        null <- ours$nulldev / 2 / sum(p$w)
        for (k in seq_along(theirs$lambda)) {
            above <- (at(ours, k) - at(theirs, k)) / null
            if (!(above < 1e-7) || abs(above) > 1e-4)
                stop(family, " ", seed, " point ", k, ": ", at(ours, k),
                     ", glmnet ", at(theirs, k))
            worst <- max(worst, above)
        }
        stopifnot(abs(ours$nulldev / theirs$nulldev - 1) < 1e-6)
        k <- seq_along(theirs$lambda)
        stopifnot(max(abs(ours$dev.ratio[k] - theirs$dev.ratio)) < 1e-3)
        # both paths start at the same penalty; glmnet's ignores limits
        if (p$alpha > 0 && p$lower < 0) {
            first <- do.call(glmnet, given)$lambda[1]
            if (!(abs(first / ours$lambda[1] - 1) < 1e-5))
                stop(family, " ", seed, " first: ", ours$lambda[1],
                     ", glmnet ", first)
        }
    }

# relaxed fits and their mixtures are glmnet's
for (seed in 1:6) {
    family <- c("gaussian", "binomial", "poisson")[seed %% 3 + 1]
    p <- problem_of(c(2, 5, 8, 11, 14, 17)[seed], family)
    given <- list(p$x, p$y, family, weights = p$w, standardize = p$standardize,
                  intercept = p$intercept, relax = TRUE, nlambda = 8,
                  lambda.min.ratio = 0.2)
    ours <- do.call(strads, c(given, thresh = 1e-10, devmax = 0, fdev = 0))
    theirs <- suppressWarnings(do.call(glmnet, c(
        given[names(given) != "lambda.min.ratio"],
        list(thresh = 1e-14, maxit = 1e7, lambda = ours$lambda))))
    # points of which both have the same columns
    k <- which(colSums((as.matrix(ours$beta) != 0) !=
                       (as.matrix(theirs$beta) != 0)) == 0)
    stopifnot(length(k) >= 6)
    for (gamma in c(0, 0.4)) {
        a <- as.matrix(coef(ours, ours$lambda[k], gamma = gamma))
        b <- as.matrix(coef(theirs, s = ours$lambda[k], gamma = gamma))
        stopifnot(max(abs(a - b)) < 1e-3 * max(1, abs(b)))
    }
}

# with equal folds, errors and choices are glmnet's
for (seed in 1:8) {
    family <- c("gaussian", "binomial", "poisson", "multinomial")[seed %% 4 + 1]
    p <- problem_of(seed + 100, family)
    n <- nrow(p$x)
    at <- list(p$x, p$y, family = family, weights = p$w, offset = p$offset,
               alpha = p$alpha, standardize = p$standardize,
               foldid = rep(1:4, length.out = n),
               lambda = exp(seq(-1, -4, length.out = 8)),
               type.measure = if (seed > 4) "mae" else "default")
    ours <- do.call(cv.strads, c(at, thresh = 1e-9))
    theirs <- suppressWarnings(do.call(cv.glmnet, c(at, thresh = 1e-13,
                                                    maxit = 1e7)))
    k <- seq_along(theirs$lambda)
    stopifnot(max(abs(ours$cvm[k] / theirs$cvm - 1)) < 1e-3,
              max(abs(ours$cvsd[k] / theirs$cvsd - 1)) < 1e-2)
}
cat("worst objective above glmnet's, of the null model's:", worst, "\n")
