# Formulas, data frames, measures of a cross-validation, and methods.
library(strads)
library(Matrix)

set.seed(3)
n <- 150L
d <- data.frame(size = rnorm(n), kind = factor(sample(c("a", "b", "c"), n, TRUE)),
                on = rnorm(n) > 0, more = rnorm(n))
d$y <- 2 * d$size - (d$kind == "b") + d$on + rnorm(n) / 5
d$group <- c("low", "mid", "high")[findInterval(d$y, c(0, 1.5)) + 1]
d$count <- rpois(n, exp(d$size / 2))
w <- runif(n)

# a formula, a data frame and a matrix are the same fit
by_hand <- cbind(size = d$size, kinda = d$kind == "a", kindb = d$kind == "b",
                 kindc = d$kind == "c", onTRUE = d$on, more = d$more) * 1
same <- function(a, b) {
    a$call <- b$call <- a$frame <- b$frame <- a$env <- b$env <- NULL
    stopifnot(isTRUE(all.equal(a, b)))
}
one <- strads(y ~ size + kind + on + more, data = d)
# R gives logical columns one column for TRUE beside an intercept
stopifnot(identical(rownames(one$beta), colnames(by_hand)))
same(one, strads(by_hand, d$y))
same(strads(y ~ size + kind + on + more, d), one)
same(strads(d[c("size", "kind", "on", "more")], d$y), one)
same(strads(y ~ size + kind + on + more, data = d, weights = w, offset = more),
     strads(by_hand, d$y, weights = w, offset = d$more))
same(strads(y ~ size + more - 1, data = d),
     strads(by_hand[, c(1, 6)], d$y, intercept = FALSE))
# a family in the place of y is no family
refused <- function(call, words) {
    said <- tryCatch({ call; "" }, error = conditionMessage)
    if (!grepl(words, said, fixed = TRUE))
        stop("found \"", said, "\", expected \"", words, "\"")
}
refused(strads(count ~ size, "poisson", data = d), "such as family")
refused(strads(count ~ size, "poisson"), "expected the data frame")
refused(cv.strads(count ~ size, "poisson", data = d), "such as family")
same(strads(count ~ size, d, "poisson"),
     strads(count ~ size, data = d, family = "poisson"))
new <- d[5:1, ]
new$kind <- as.character(new$kind)
stopifnot(identical(unname(predict(one, new, s = 0.1)),
                    unname(predict(one, by_hand[5:1, ], s = 0.1))),
          identical(unname(predict(one, new[1, ], s = 0.1)),
                    unname(predict(one, by_hand[5, , drop = FALSE], s = 0.1))))

# exact coefficients between points are those of a fit there
coarse <- strads(by_hand, d$y, thresh = 1e-12, nlambda = 4, fdev = 0)
s <- mean(coarse$lambda[2:3])
tight <- strads(by_hand, d$y, lambda = s, thresh = 1e-12)
stopifnot(max(abs(coef(coarse, s, exact = TRUE) - coef(tight))) < 1e-6,
          max(abs(coef(coarse, s) - coef(tight))) > 1e-3)

# which finds the data where the fit was made, and refuses others
made_inside <- function(z, shares) {
    list(matrix = strads(as.matrix(z[c("wt", "hp")]), z$mpg, thresh = 1e-12),
         formula = strads(mpg ~ wt + hp, data = z, weights = shares,
                          thresh = 1e-12),
         cv = cv.strads(mpg ~ wt + hp, data = z, weights = shares,
                        thresh = 1e-12, nfolds = 3))
}
shares <- rep(1:2, 16)
fits <- made_inside(mtcars, shares)
z <- transform(mtcars, mpg = rev(mpg)) # another one is found here
shares <- rev(shares)
for (name in names(fits)) {
    direct <- strads(as.matrix(mtcars[c("wt", "hp")]), mtcars$mpg, lambda = 0.5,
                     weights = if (name != "matrix") rep(1:2, 16),
                     thresh = 1e-12)
    again <- coef(fits[[name]], s = 0.5, exact = TRUE)
    stopifnot(max(abs(again - coef(direct))) < 1e-6,
              max(abs(predict(fits[[name]], as.matrix(mtcars[c("wt", "hp")]),
                              s = 0.5, exact = TRUE) -
                      predict(direct, as.matrix(mtcars[c("wt", "hp")])))) <
                  1e-6)
}
changed <- by_hand
moved <- strads(changed, d$y)
changed[7, 1] <- changed[7, 1] + 1e-3
refused(coef(moved, s = s, exact = TRUE), "data have changed since the fit")
stopifnot(max(abs(coef(moved, s = s, exact = TRUE, x = by_hand) -
                  coef(moved, s = s))) < 0.1)
own <- d$y
moved <- strads(by_hand, own)
own <- rev(own)
refused(coef(moved, s = s, exact = TRUE), "data have changed since the fit")
rm(own)
refused(coef(moved, s = s, exact = TRUE), "give x, y and other data")

# families' responses, nonzero and class
many <- strads(by_hand, d$group, "multinomial", nlambda = 8)
p <- predict(many, by_hand, type = "response")
stopifnot(identical(dim(p), c(n, 3L, length(many$lambda))),
          max(abs(apply(p, c(1, 3), sum) - 1)) < 1e-12,
          identical(predict(many, by_hand, type = "class")[, 4],
                    many$classes[max.col(p[, , 4], "first")]),
          identical(dim(predict(many, by_hand[1, ], s = 0.1, type = "response")),
                    c(1L, 3L, 1L)),
          length(predict(many, type = "nonzero")) == 3)
few <- strads(by_hand, d$count, poisson(), nlambda = 8)
stopifnot(max(abs(log(predict(few, by_hand, type = "response")) -
                  predict(few, by_hand))) < 1e-12,
          identical(dim(predict(few, by_hand)), c(n, length(few$lambda))))
z <- exp(d$size / 3) * rgamma(n, 3) / 3
for (family in c("gamma", "tweedie")) {
    made <- strads(by_hand, z, family, thresh = 1e-10, standardize = FALSE)
    k <- 9
    mu <- as.vector(predict(made, by_hand, made$lambda[k], "response"))
    g <- as.vector(crossprod(by_hand, (z - mu) / mu^(if (family == "gamma") 1
                                                    else 0.5))) / n
    stopifnot(max(abs(g)) < made$lambda[k] * (1 + 1e-4),
              max(abs(g)) > made$lambda[k] * (1 - 1e-4))
}

# dfmax, exclude
stopifnot(max(strads(by_hand, d$y, dfmax = 2)$df) == 2,
          all(strads(by_hand, d$y, exclude = 1)$beta[1, ] == 0),
          all(strads(by_hand, d$y, lower.limits = 0)$beta >= 0))

relaxed <- strads(by_hand, d$y, relax = TRUE)
k <- 8
on <- which(relaxed$beta[, k] != 0)
stopifnot(isTRUE(all.equal(
    unname(coef(lm(d$y ~ by_hand[, on]))),
    unname(coef(relaxed, relaxed$lambda[k], gamma = 0)[c(1, on + 1), 1]),
    tolerance = 1e-3)))
stopifnot(inherits(try(coef(one, gamma = 0), TRUE), "try-error"))

# each measure against its definition on the folds' own fits
folds <- rep(1:5, length.out = n)
by_definition <- function(cv, y, family, error, ...) {
    raw <- t(sapply(1:5, function(f) {
        out <- folds == f
        fit <- strads(by_hand[!out, ], y[!out], family, weights = w[!out],
                      lambda = cv$lambda, ...)
        error(predict(fit, by_hand[out, ], type = "response"), y[out], w[out])
    }))
    size <- tapply(w, folds, sum)
    mean <- apply(raw, 2, weighted.mean, size)
    sd <- sqrt(apply(sweep(raw, 2, mean)^2, 2, weighted.mean, size) / 4)
    stopifnot(max(abs(cv$cvm / mean - 1)) < 2e-2,
              max(abs(cv$cvsd - sd)) < 2e-2 * max(sd),
              cv$cvm[cv$index[1]] == if (names(cv$name) == "auc") max(cv$cvm)
                                     else min(cv$cvm))
}
rows <- function(error) function(p, y, w) apply(error(p, y), 2, weighted.mean, w)
two <- ifelse(d$y > 0.7, "up", "down")
up <- function(y) (y == "up") * 1
both <- function(...) cv.strads(by_hand, ..., weights = w, foldid = folds,
                                thresh = 1e-8, nlambda = 15)
for (alpha in c(1, 0.4)) {
    by_definition(both(d$y, alpha = alpha), d$y, "gaussian",
                  rows(function(p, y) (p - y)^2), alpha = alpha, thresh = 1e-8)
}
by_definition(both(d$y, type.measure = "mae"), d$y, "gaussian",
              rows(function(p, y) abs(p - y)), thresh = 1e-8)
by_definition(both(two, "binomial"), two, "binomial",
              rows(function(p, y) -2 * log(abs(1 - up(y) - p))), thresh = 1e-8)
by_definition(both(two, "binomial", type.measure = "class"), two, "binomial",
              rows(function(p, y) (p > 0.5) != up(y)), thresh = 1e-8)
by_definition(both(two, "binomial", type.measure = "auc"), two, "binomial",
              function(p, y, w) apply(p, 2, function(v) {
    pairs <- outer(v[y == "up"], v[y != "up"], function(a, b)
        (a > b) + (a == b) / 2)
    weights <- outer(w[y == "up"], w[y != "up"])
    sum(pairs * weights) / sum(weights)
}), thresh = 1e-8)
by_definition(both(d$count, "poisson"), d$count, "poisson",
              rows(function(p, y) 2 * (p - y + y * log(pmax(y, 1e-99) / p))),
              thresh = 1e-8)
kept <- both(two, "binomial", keep = TRUE)
stopifnot(identical(dim(kept$fit.preval), c(n, length(kept$lambda))),
          max(abs(kept$cvm / both(two, "binomial")$cvm - 1)) < 1e-6)
classes <- cv.strads(by_hand, d$group, "multinomial", nfolds = 4, nlambda = 8,
                     type.measure = "class")
stopifnot(min(classes$cvm) < 0.5, length(coef(classes)) == 3)

# draws of folds leave the session's random numbers as they were
set.seed(1)
a <- runif(1)
set.seed(1)
invisible(cv.strads(by_hand, d$y, nlambda = 5))
stopifnot(identical(a, runif(1)))

pdf(NULL)
plot(many)
plot(one, xvar = "dev")
plot(strads(by_hand, d$y, lambda = 0.1))
plot(classes, sign.lambda = -1, main = "folds")
print(few)

# refused penalties, families and responses
x <- by_hand[, 1:2]
refused(coef(one, s = "lambda.min"), "names are for cv.strads()")
refused(coef(one, s = -1), "numbers from 0 up")
refused(predict(one, d, s = NA_real_), "numbers from 0 up")
refused(coef(one, s = 0.1, exact = NA), "TRUE or FALSE")
refused(coef(classes, s = "min"), "\"lambda.1se\", \"lambda.min\"")
refused(strads(x, d$y, c("gaussian", "poisson")), "c(\"gaussian\", ")
for (family in c("gaussian", "poisson", "gamma", "quantile"))
    refused(strads(x, rep(0.1, n), family), "y is constant")
refused(strads(x, rep(0, n), intercept = FALSE), "y is constant at 0")
refused(strads(x, 1:n, offset = 1:n - 3), "beside its offset")
refused(strads(x, cbind(rep(1, n), 2), "mgaussian"), "y is constant")
stopifnot(length(strads(x, rep(1, n), intercept = FALSE)$lambda) > 1,
          length(strads(x, rep(1, n), lambda = 0.1)$lambda) == 1)
pair <- cbind(d$y, second = d$more, d$size)
colnames(pair) <- c("", "second", NA)
stopifnot(identical(names(coef(strads(x, pair, "mgaussian", nlambda = 3))),
                    c("y1", "second", "y3")))
refused(strads(x, pair, "mgaussian", standardize.response = TRUE),
        "expected FALSE")
two_of <- strads(x, pair, "mgaussian", standardize.response = FALSE,
                 nlambda = 3)
# the null model's share is 0 in print, in numbers of plain digits
shown <- capture.output(print(strads(x, d$y, nlambda = 30)))
stopifnot(!any(grepl("e-1|e[+]0", shown)))

# a subset of a formula's rows, also in the environment of the call
few <- d$size > 0
same(strads(y ~ size + more, data = d, subset = few, weights = w),
     strads(y ~ size + more, data = d[few, ], weights = w[few]))
inner <- (function(least) strads(y ~ size + more, data = d,
                                 subset = size > least))(0.5)
same(inner, strads(y ~ size + more, data = d[d$size > 0.5, ]))
least <- -1
stopifnot(max(abs(coef(inner, s = 0.05, exact = TRUE) -
                  coef(inner, s = 0.05))) < 0.05)
same(cv.strads(y ~ size + more, data = d, subset = few, nfolds = 3)$strads.fit,
     strads(y ~ size + more, data = d[few, ]))
refused(strads(x, d$y, subset = few), "is for a formula")
# mixtures of penalised and relaxed coefficients by cross-validation, against
# folds that are fitted here
drawn <- sample(rep(1:3, length.out = nrow(by_hand)))
for (measure in c("mse", "mae")) {
    gamma <- c(1, 0, 0.3)
    mixed <- cv.strads(by_hand, d$y, relax = TRUE, foldid = drawn,
                       type.measure = measure, gamma = gamma, thresh = 1e-8)
    plain <- cv.strads(by_hand, d$y, foldid = drawn, type.measure = measure,
                       thresh = 1e-8)
    chosen <- mixed$relaxed
    stopifnot(identical(chosen$gamma, sort(gamma)))
    errors <- sapply(chosen$gamma, function(g) {
        off <- sapply(1:3, function(f) {
            out <- drawn == f
            one <- strads(by_hand[!out, ], d$y[!out], relax = TRUE,
                          lambda = mixed$lambda, thresh = 1e-8)
            gap <- d$y[out] - predict(one, by_hand[out, ], gamma = g)
            colSums(if (measure == "mse") gap^2 else abs(gap))
        })
        rowSums(off) / nrow(by_hand)
    })
    se <- which(chosen$cvm <= min(chosen$cvm) +
                chosen$cvsd[which.min(chosen$cvm)], arr.ind = TRUE)
    first <- se[se[, 1] == min(se[, 1]), 2]
    stopifnot(isTRUE(all.equal(chosen$cvm, unname(errors), tolerance = 1e-8)),
              isTRUE(all.equal(mixed$cvm, plain$cvm, tolerance = 1e-4)),
              min(chosen$cvm) == chosen$cvm[chosen$index[1, , drop = FALSE]],
              chosen$lambda.1se == mixed$lambda[min(se[, 1])],
              chosen$gamma.1se == chosen$gamma[max(first)],
              identical(coef(mixed, "lambda.min"),
                        coef(mixed$strads.fit, chosen$lambda.min,
                             gamma = chosen$gamma.min)),
              identical(predict(mixed, by_hand),
                        predict(mixed$strads.fit, by_hand, chosen$lambda.1se,
                                gamma = chosen$gamma.1se)),
              max(abs(coef(mixed, gamma = 0) - coef(plain))) > 0)
    invisible(capture.output(print(mixed)))
    refused(coef(mixed, gamma = "least"), "gamma.1se")
}
refused(cv.strads(by_hand, d$y, relax = TRUE, gamma = 2), "from 0 to 1")
if (requireNamespace("glmnet", quietly = TRUE)) {
    x <- matrix(rnorm(6000), 300)
    z <- drop(x[, 1:3] %*% 3:1) / 2
    folds <- sample(rep(1:5, length.out = 300))
    for (family in c("gaussian", "binomial")) {
        y <- if (family == "gaussian") z + rnorm(300)
             else rbinom(300, 1, plogis(z))
        path <- strads(x, y, family)$lambda
        ours <- cv.strads(x, y, family, foldid = folds, relax = TRUE,
                          lambda = path, thresh = 1e-9)$relaxed
        theirs <- glmnet::cv.glmnet(x, y, family = family, foldid = folds,
                                    relax = TRUE, lambda = path,
                                    thresh = 1e-10)$relaxed
        apart <- sapply(seq_along(ours$gamma), function(k) {
            at <- sapply(theirs$statlist[[k]]$lambda, function(v)
                which.min(abs(v - ours$lambda)))
            max(abs(theirs$statlist[[k]]$cvm / ours$cvm[at, k] - 1))
        })
        stopifnot(all(apart < 1e-4), ours$gamma.1se == theirs$gamma.1se,
                  ours$lambda.1se == theirs$lambda.1se)
    }
}
