# Times until an event, several responses and quantiles: against glmnet and
# survival where they are installed, and against conditions of the optimum.
library(strads)
library(Matrix)
there <- function(package) requireNamespace(package, quietly = TRUE)
close <- function(a, b, most) {
    gap <- max(abs(as.vector(a) - as.vector(b)))
    if (!(gap <= most))
        stop("differ by ", gap, ", expected at most ", most)
}
refused <- function(call, words) {
    said <- tryCatch({ call; "" }, error = conditionMessage)
    if (!grepl(words, said, fixed = TRUE))
        stop("found \"", said, "\", expected \"", words, "\"")
}

times <- function(seed) {
    set.seed(seed)
    n <- c(80, 150)[seed %% 2 + 1]
    p <- c(4, 20)[seed %% 2 + 1]
    x <- matrix(rnorm(n * p, 1), n) %*% diag(exp(rnorm(p) / 2))
    t <- ceiling(10 * rexp(n, exp(x[, 1] / 2))) / 10 # with equal times
    list(x = if (seed %% 3) x else as(x * (abs(x) > 1), "CsparseMatrix"),
         y = cbind(time = t, status = rbinom(n, 1, 0.7)),
         w = if (seed > 2) runif(n, 0.3, 2),
         offset = if (seed %% 2) rnorm(n) / 3,
         s = sample(c("a", "b", "c"), n, TRUE), folds = rep(1:4, length.out = n))
}
fits <- list(thresh = 1e-9, nlambda = 10, lambda.min.ratio = 0.05, devmax = 0,
             fdev = 0)
tight <- list(thresh = 1e-12, maxit = 1e7)

for (seed in 1:4) {
    d <- times(seed)
    given <- list(d$x, d$y, "cox", weights = d$w, offset = d$offset)
    one <- do.call(strads, c(given, fits))
    stopifnot(one$gap <= 1e-9, identical(rownames(coef(one)),
                                         rownames(one$beta)))
    risk <- predict(one, d$x, one$lambda[5], "response", newoffset = d$offset)
    close(log(risk), predict(one, d$x, one$lambda[5], newoffset = d$offset),
          1e-12)
    stopifnot(identical(risk, predict(one, d$x, one$lambda[5], "risk",
                                      newoffset = d$offset)))
    for (alpha in if (there("glmnet")) c(1, 0.5, 0)) {
        ours <- do.call(strads, c(given, fits, alpha = alpha))
        # of sparse x glmnet's own fits end early
        theirs <- do.call(glmnet::glmnet, c(
            list(as.matrix(d$x)), given[-1], tight, alpha = alpha,
            list(lambda = ours$lambda)))
        k <- seq_along(theirs$lambda)
        close(coef(ours)[, k], coef(theirs), 1e-4)
        close(ours$dev.ratio[k], theirs$dev.ratio, 1e-5)
        close(ours$nulldev / theirs$nulldev, 1, 1e-9)
    }
    if (there("glmnet") && there("survival")) {
        for (measure in c("deviance", "C")) {
            at <- c(given, list(lambda = one$lambda, foldid = d$folds,
                                type.measure = measure))
            names(at)[3] <- "family"
            at[[1]] <- as.matrix(d$x)
            # glmnet scales the weights of the two likelihoods apart, and its C
            # leaves the offset out
            at[if (measure == "deviance") "weights" else "offset"] <- list(NULL)
            ours <- do.call(cv.strads, c(at, thresh = 1e-9))
            theirs <- do.call(glmnet::cv.glmnet, c(at, tight))
            k <- seq_along(theirs$lambda)
            close(ours$cvm[k], theirs$cvm, 1e-3)
            close(ours$cvsd[k], theirs$cvsd, 1e-3)
            close(match(ours$lambda.min, ours$lambda),
                  match(theirs$lambda.min, theirs$lambda), 1)
        }
        at$type.measure <- "deviance"
        kept <- do.call(cv.strads, c(at, thresh = 1e-9, keep = TRUE))
        usual <- do.call(cv.strads, c(at, thresh = 1e-9))
        close(kept$cvm, usual$cvm, 1e-6)
        stopifnot(dim(kept$fit.preval) == c(nrow(d$x), length(kept$lambda)))
    }
    if (!there("survival"))
        next
    # a formula, both ties, strata and survival curves
    Surv <- survival::Surv
    strata <- survival::strata
    frame <- data.frame(d$y, as.matrix(d$x)[, 1:4], s = d$s,
                        w = if (is.null(d$w)) 1 else d$w)
    for (ties in c("breslow", "efron")) {
        fit <- strads(Surv(time, status) ~ X1 + X2 + X3 + X4, data = frame,
                      family = "cox", weights = w, strata = s, ties = ties,
                      lambda = 0, thresh = 1e-12)
        known <- survival::coxph(Surv(time, status) ~ X1 + X2 + X3 + X4 +
                                     strata(s), frame, weights = w,
                                 ties = ties)
        close(coef(fit), coef(known), 1e-4)
        new <- frame[1:6, ]
        at <- c(0, 0.3, 1.1, 50)
        curves <- predict(fit, new, s = 0, type = "survival", times = at,
                          newstrata = new$s)
        for (i in seq_len(nrow(new))) {
            all <- survival::survfit(known, new[i, ])
            close(summary(all, times = at, extend = TRUE)$surv, curves[i, ],
                  1e-4)
        }
    }
    same <- strads(frame[paste0("X", 1:4)], with(frame, Surv(time, status)),
                   "cox", weights = frame$w, strata = frame$s, lambda = 0.01)
    other <- strads(Surv(time, status) ~ X1 + X2 + X3 + X4, data = frame,
                    family = "cox", weights = w, strata = s, lambda = 0.01)
    close(coef(same), coef(other), 0)
    refused(strads(Surv(time, status) ~ X1 + strata(s), data = frame,
                   family = "cox"), "give strata")
    folds <- cv.strads(Surv(time, status) ~ X1 + X2, data = frame, nfolds = 3,
                       family = "cox", strata = s, nlambda = 5)
    stopifnot(length(folds$cvm) == 5, is.finite(folds$cvm))
}

# several responses: glmnet's coefficients, deviances and errors of folds
responses <- function(seed) {
    set.seed(seed)
    n <- c(90, 40)[seed %% 2 + 1]
    p <- c(6, 60)[seed %% 2 + 1]
    x <- matrix(rnorm(n * p, 2), n)
    y <- cbind(a = x[, 1] + rnorm(n), b = 5 + x[, 1] - x[, 2] + rnorm(n),
               c = rnorm(n))
    list(x = if (seed > 2) as(x * (x > 2), "CsparseMatrix") else x, y = y,
         w = if (seed %% 3) NULL else runif(n, 0.3, 2),
         factor = if (seed %% 2) rep(1, p) else c(0, rep(1, p - 1)))
}
for (seed in 1:4) {
    d <- responses(seed)
    for (plain in c(TRUE, FALSE)) {
        given <- list(d$x, d$y, family = "mgaussian", weights = d$w,
                      standardize = plain, intercept = plain,
                      penalty.factor = d$factor, exclude = 4)
        ours <- do.call(strads, c(given, fits))
        z <- predict(ours, d$x)
        w <- if (is.null(d$w)) rep(1, nrow(d$x)) else d$w
        left <- apply((array(d$y, dim(z)) - z)^2 * w, 3, sum)
        close(deviance(ours) / left, 1, 1e-9)
        stopifnot(ours$beta$b[4, ] == 0, ours$gap <= 1e-9,
                  ours$df == colSums(as.matrix(abs(ours$beta$a) +
                                               abs(ours$beta$b)) > 0),
                  identical(names(coef(ours)), c("a", "b", "c")),
                  identical(z, predict(ours, d$x, type = "response")))
        if (!there("glmnet"))
            next
        theirs <- do.call(glmnet::glmnet, c(given, tight,
                                            list(lambda = ours$lambda)))
        for (k in 1:3)
            close(coef(ours)[[k]], coef(theirs)[[k]], 1e-4)
        close(ours$dev.ratio, theirs$dev.ratio, 1e-5)
        if (!plain)
            next
        for (measure in c("mse", "mae")) {
            at <- c(given, list(lambda = ours$lambda[1:6], type.measure = measure,
                                foldid = rep(1:3, length.out = nrow(d$x))))
            mine <- do.call(cv.strads, c(at, thresh = 1e-9))
            peer <- do.call(glmnet::cv.glmnet, c(at, tight))
            close(mine$cvm / peer$cvm, 1, 1e-4)
            close(mine$cvsd / peer$cvsd, 1, 1e-3)
        }
    }
}
pdf(NULL)
plot(ours)
print(ours)

# quantiles: the median of each path's residuals, subgradients, and the errors
for (seed in 1:3) {
    set.seed(seed)
    n <- 120
    x <- matrix(rnorm(n * 5), n)
    y <- x[, 1] - x[, 2] + rexp(n)
    w <- if (seed == 1) NULL else runif(n, 0.3, 2)
    own <- if (is.null(w)) rep(1, n) else w
    for (tau in c(0.5, 0.9)) {
        fit <- strads(x, y, "quantile", tau = tau, weights = w, nlambda = 8,
                      thresh = 1e-7, standardize = FALSE, devmax = 0, fdev = 0)
        # a deviance that rounding raises does not end the path
        stopifnot(length(fit$lambda) == 8)
        loss <- function(z) sum(own * pmax(tau * (y - z), (tau - 1) * (y - z)))
        close(fit$nulldev, 2 * optimize(loss, range(y), tol = 1e-9)$objective,
              1e-5 * fit$nulldev)
        value <- function(b, k)
            loss(b[1] + as.vector(x %*% b[-1])) / sum(own) +
                fit$lambda[k] * sum(abs(b[-1]))
        for (k in c(3, 8)) {
            b <- coef(fit)[, k]
            close(deviance(fit)[k], 2 * loss(b[1] + as.vector(x %*% b[-1])),
                  1e-6 * fit$nulldev)
            # convex: no direction may lower the objective
            for (step in 1:60) {
                away <- b + rnorm(6) * 10^sample(-4:0, 1)
                stopifnot(value(away, k) >= value(b, k) - 1e-6)
            }
        }
    }
    folds <- cv.strads(x, y, "quantile", tau = 0.9, nfolds = 4, nlambda = 6,
                       lambda.min.ratio = 0.05)
    again <- cv.strads(x, y, "quantile", tau = 0.9, nfolds = 4, nlambda = 6,
                       lambda.min.ratio = 0.05, keep = TRUE)
    close(folds$cvm / again$cvm, 1, 1e-2)
    stopifnot(folds$cvm[folds$index[1]] < folds$cvm[1])
}

# survival curves of a fit that was stored, whatever its data are called now
d <- times(1)
kept <- (function(x, y, s) strads(x, y, "cox", strata = s, lambda = 0.05,
                                  relax = TRUE))(d$x, d$y, d$s)
curves <- function(fit, ...)
    predict(fit, d$x[1:5, ], type = "survival", times = c(0.2, 1), s = 0.05,
            newstrata = d$s[1:5], ...)
file <- tempfile()
saveRDS(kept, file)
x <- y <- s <- NULL
stopifnot(identical(curves(readRDS(file)), curves(kept)),
          identical(curves(readRDS(file), gamma = 0), curves(kept, gamma = 0)))
# the hazard of Breslow, by its definition
b <- coef(kept, s = 0.05)[, 1]
risk <- exp(as.vector(d$x %*% b))
for (i in 1:5) {
    own <- d$s == d$s[i]
    event <- own & d$y[, "status"] == 1 & d$y[, "time"] <= 1
    hazard <- sum(vapply(which(event), function(e)
        1 / sum(risk[own & d$y[, "time"] >= d$y[e, "time"]]), 0))
    close(curves(kept)[i, 2], exp(-risk[i] * hazard), 1e-12)
}

y <- cbind(time = 1:9, status = rep(0:1, length.out = 9))
x <- matrix(rnorm(18), 9)
refused(strads(x, 1:9, "cox"), "columns time and status")
refused(strads(x, cbind(time = 1:9, status = 2), "cox"), "1 for an event")
refused(strads(x, cbind(time = -1, status = rep(1, 9)), "cox"), "from 0 up")
refused(strads(x, cbind(time = NA, status = rep(1, 9)), "cox"), "missing")
refused(strads(x, y[-1, ], "cox"), "one for each")
refused(strads(x, y, "cox", strata = 1:3), "strata")
refused(strads(x, y, "cox", tau = 0.5), "has none")
refused(strads(x, y[, 1], strata = 1:9), "has none")
refused(strads(x, y[, 1], ties = "efron"), "has none")
refused(strads(x, y[, 1], power = 1.2), "has none")
refused(strads(x, y[, 1], "quantile", tau = 1), "tau")
refused(strads(x, y[, 1], "mgaussian"), "two columns")
refused(strads(x, y, "mgaussian", alpha = 0.5), "group penalty")
refused(strads(x, y, "mgaussian", lower.limits = 0), "no limits")
refused(strads(x, y, "mgaussian", relax = TRUE), "no relaxed")
refused(strads(x, y, "mgaussian", offset = y), "subtract it")
refused(strads(x, y), "mgaussian")
fit <- strads(x, y, "cox", lambda = 0.1)
refused(summary(strads(x, y, "cox", lambda = 0)), "no standard errors")
refused(predict(fit, x, type = "survival"), "times")
refused(predict(fit, x, type = "class"), "binomial and multinomial")
refused(predict(fit, x, times = 3), "survival")
refused(predict(strads(x, y[, 1]), x, type = "risk"), "cox")
refused(cv.strads(x, y, "cox", nfolds = 3, type.measure = "mse"), "\"C\"")
