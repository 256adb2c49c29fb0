# Standard errors against stats::glm.
library(strads)

fields <- function(family, seed) {
    set.seed(seed)
    n <- sample(c(40L, 120L, 400L), 1)
    p <- sample(c(1L, 3L, 6L), 1)
    x <- matrix(rnorm(n * p, sample(0:3, 1)), n)
    x[, 1] <- x[, 1] * 10^sample(-2:2, 1)
    z <- as.vector(scale(x) %*% rnorm(p, 0, 0.4))
    y <- switch(family, gaussian = z + rnorm(n), binomial = z + rlogis(n) > 0,
                poisson = rpois(n, exp(z)), gamma = exp(z) * rgamma(n, 2) / 2)
    list(x = x, y = as.double(y),
         w = if (seed %% 2) NULL else sample(1:3, n, TRUE),
         offset = if (seed %% 3 == 0) rnorm(n) / 4)
}
of <- list(gaussian = gaussian(), binomial = quasibinomial(),
           poisson = poisson(), gamma = Gamma("log"))
for (family in names(of))
    for (seed in 1:12) {
        f <- fields(family, seed)
        if (length(unique(f$y)) < 2)
            next
        ours <- strads(f$x, f$y, family, weights = f$w, offset = f$offset,
                       lambda = 0)
        s <- summary(ours)
        theirs <- suppressWarnings(glm(
            f$y ~ f$x, weights = f$w, offset = f$offset,
            family = if (family == "binomial") binomial() else of[[family]],
            control = glm.control(1e-14, 100)))
        t <- summary(theirs)
        known <- unname(t$coefficients)
        exact <- strads(f$x, f$y, family, weights = f$w, offset = f$offset,
                        lambda = 0, thresh = 1e-10)
        stopifnot(isTRUE(all.equal(unname(coef(exact)[, 1]), known[, 1],
                                   tolerance = 1e-3)),
                  isTRUE(all.equal(deviance(exact), t$deviance,
                                   tolerance = 1e-6)))
        stopifnot(isTRUE(all.equal(unname(s$coefficients), known,
                                   tolerance = 1e-5)),
                  isTRUE(all.equal(s$dispersion, t$dispersion,
                                   tolerance = 1e-5)),
                  s$df.residual == t$df.residual,
                  isTRUE(all.equal(s$deviance, t$deviance, tolerance = 1e-7)),
                  isTRUE(all.equal(s$null.deviance, t$null.deviance,
                                   tolerance = 1e-7)))
        if (family == "gaussian" && is.null(f$offset))
            stopifnot(isTRUE(all.equal(unname(confint(ours, level = 0.9)),
                                       unname(confint(lm(f$y ~ f$x,
                                                         weights = f$w),
                                                      level = 0.9)),
                                       tolerance = 1e-5)))
    }
f <- fields("gaussian", 5)
s <- summary(strads(f$x, exp(f$y), "tweedie", lambda = 0, intercept = FALSE))
stopifnot(nrow(s$coefficients) == ncol(f$x), all(s$coefficients[, 2] > 0))
print(s)
refused <- function(call, words) {
    said <- tryCatch({ call; "" }, error = conditionMessage)
    stopifnot(grepl(words, said, fixed = TRUE))
}
refused(summary(strads(f$x, f$y)), "expected one with lambda = 0")
refused(summary(strads(cbind(f$x, f$x), f$y, lambda = 0)), "depend")
refused(summary(strads(f$x, f$x[, 1] > median(f$x[, 1]), "binomial",
                       lambda = 0)),
        "separates")

# columns that are left out have no row, and the others are glm's without them
left_out <- glm(carb ~ wt + qsec, poisson, mtcars)
for (fit in list(
    strads(carb ~ wt + hp + qsec, data = mtcars, family = "poisson",
           lambda = 0, exclude = 2),
    strads(carb ~ wt + hp + qsec, data = mtcars, family = "poisson",
           lambda = 0, penalty.factor = c(1, Inf, 1)),
    strads(as.matrix(mtcars[c("wt", "hp", "qsec")]), mtcars$carb, "poisson",
           lambda = 0, exclude = 2))) {
    s <- summary(fit)
    stopifnot(identical(rownames(s$coefficients),
                        c("(Intercept)", "wt", "qsec")),
              isTRUE(all.equal(unname(s$coefficients),
                               unname(summary(left_out)$coefficients),
                               tolerance = 1e-5)),
              s$df.residual == left_out$df.residual,
              identical(rownames(confint(fit)), rownames(s$coefficients)),
              coef(fit)["hp", ] == 0)
}
# limits are refused, as the estimate may be at one
for (limits in list(list(lower.limits = -1), list(upper.limits = 9))) {
    fit <- do.call(strads, c(list(mpg ~ wt, data = mtcars, lambda = 0), limits))
    refused(summary(fit), "fit without lower.limits and upper.limits")
    refused(confint(fit), "fit without lower.limits and upper.limits")
}
# columns have names in sentences, and R's words
refused(summary(strads(cbind(a = f$x[, 1], twice = 2 * f$x[, 1]), f$y,
                       lambda = 0)), "column twice depends")
refused(summary(strads(mpg ~ wt + one, data = cbind(mtcars, one = 1),
                       lambda = 0)), "column one is constant")
stopifnot(identical(
    tryCatch(strads:::in_words_of_r(stop(
        "the steps diverge. Scale the columns down, or take shorter steps ",
        "(--rate) or fewer at once (--blocks, --workers)")),
        error = conditionMessage),
    "the steps diverge. Scale the columns down"))

# factors of a fit without a penalty are those of glm, with and without an
# intercept, and new rows are predicted with them
cars <- transform(mtcars, cyl = factor(cyl), gear = as.character(gear),
                  carb = factor(carb, ordered = TRUE), manual = am == 1)
for (model in list(mpg ~ wt + cyl, mpg ~ wt + cyl + gear + manual,
                   mpg ~ 0 + cyl + wt, mpg ~ wt * cyl,
                   mpg ~ wt + factor(cyl), mpg ~ hp + carb)) {
    fit <- strads(model, data = cars, lambda = 0, thresh = 1e-13)
    known <- lm(model, cars)
    stopifnot(identical(rownames(summary(fit)$coefficients),
                        names(coef(known))),
              isTRUE(all.equal(unname(summary(fit)$coefficients),
                               unname(summary(known)$coefficients),
                               tolerance = 1e-5)),
              isTRUE(all.equal(as.vector(predict(fit, cars[9:3, ])),
                               unname(predict(known, cars[9:3, ])),
                               tolerance = 1e-3)))
}
by_frame <- strads(cars[c("wt", "cyl")], cars$mpg, lambda = 0)
stopifnot(identical(rownames(by_frame$beta), c("wt", "cyl6", "cyl8")),
          identical(rownames(strads(mpg ~ cyl, data = cars, lambda = 0,
                                    intercept = FALSE)$beta),
                    c("cyl4", "cyl6", "cyl8")),
          identical(rownames(strads(mpg ~ cyl, data = cars,
                                    lambda = 1:0)$beta),
                    c("cyl4", "cyl6", "cyl8")))
# exact coefficients at a penalty are of all levels, and so are its predictions
at <- predict(by_frame, cars[1:4, ], s = 0.5, exact = TRUE)
all <- strads(cars[c("wt", "cyl")], cars$mpg, lambda = c(0.5, 0))
stopifnot(max(abs(at - predict(all, cars[1:4, ], s = 0.5))) < 1e-9)
