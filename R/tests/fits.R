# Fits against their KKT conditions, and against glmnet where it is installed.
library(strads)
library(Matrix)

set.seed(1)
n <- 200
p <- 40
x <- rsparsematrix(n, p, 0.3)
y <- as.vector(x[, 1:4] %*% c(2, -1, 1, 3)) + 1 + rnorm(n) / 4
w <- runif(n)

# the gradient of the smooth part is at most lambda, and it is lambda's sign
# where the coefficient is not 0
kkt <- function(gradient, beta, lambda, alpha, tolerance) {
    g <- gradient - lambda * (1 - alpha) * beta
    on <- beta != 0
    stopifnot(all(abs(g[on] - lambda * alpha * sign(beta[on])) < tolerance),
              all(abs(g[!on]) <= lambda * alpha + tolerance))
}

for (alpha in c(1, 0.5)) {
    fit <- strads(x, y, weights = w, alpha = alpha, standardize = FALSE,
                  nlambda = 20, thresh = 1e-12)
    stopifnot(all(fit$gap <= 1e-12), all(diff(fit$lambda) < 0))
    for (k in c(5, 12, 20)) {
        beta <- fit$beta[, k]
        r <- w * (y - fit$a0[k] - as.vector(x %*% beta)) / sum(w)
        stopifnot(abs(sum(r)) < 1e-6)
        kkt(as.vector(crossprod(x, r)), beta, fit$lambda[k], alpha, 1e-5)
        stopifnot(abs(fit$dev.ratio[k] -
                      (1 - sum(w * (y - predict(fit, x, fit$lambda[k]))^2) /
                           fit$nulldev)) < 1e-8)
    }
}

label <- factor(ifelse(y > 1, "late", "early"))
fit <- strads(x, label, "binomial", standardize = FALSE,
              lambda = c(0.01, 0.1), thresh = 1e-10)
stopifnot(fit$lambda == c(0.1, 0.01))
link <- predict(fit, x, s = 0.01)
kkt(as.vector(crossprod(x, (label == "late") - 1 / (1 + exp(-link)))) / n,
    fit$beta[, 2], 0.01, 1, 1e-4)
stopifnot(mean(predict(fit, x, s = 0.01, type = "class") == label) > 0.9,
          all(abs(predict(fit, x, s = 0.01, type = "response") -
                  1 / (1 + exp(-link))) < 1e-12))

cv <- cv.strads(x, y, nfolds = 5, nlambda = 30)
stopifnot(cv$lambda.min <= cv$lambda.1se,
          identical(cv$cvm, cv.strads(x, y, nfolds = 5, nlambda = 30)$cvm),
          nrow(coef(cv)) == p + 1)
print(cv)
pdf(NULL)
plot(cv)
plot(cv$strads.fit)

refused <- function(call, words) {
    said <- tryCatch({ call; "" }, error = conditionMessage)
    stopifnot(grepl(words, said, fixed = TRUE))
}
refused(strads(x, y[-1]), "expected one for each")
refused(strads(x, rep(1:3, length.out = n), "binomial"), "takes two classes")
refused(strads(x, y, alpha = 7), "l1")

if (requireNamespace("glmnet", quietly = TRUE)) {
    ours <- strads(x, y, nlambda = 20)
    theirs <- glmnet::glmnet(x, y, lambda = ours$lambda, thresh = 1e-14)
    stopifnot(max(abs(ours$beta - theirs$beta)) < 1e-3)
}
