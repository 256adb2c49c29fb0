# Fits against their KKT conditions, and against glmnet if it is installed.
library(strads)
library(Matrix)

set.seed(1)
n <- 200
p <- 40
x <- rsparsematrix(n, p, 0.3)
y <- as.vector(x[, 1:4] %*% c(2, -1, 1, 3)) + 1 + rnorm(n) / 4
w <- runif(n)

# the absolute gradient of the smooth part is at most lambda; for a nonzero
# coefficient it is lambda with the coefficient's sign
kkt <- function(gradient, beta, lambda, alpha, tolerance, unit = 1) {
    g <- gradient - lambda * (1 - alpha) * beta / unit
    on <- beta != 0
    stopifnot(all(abs(g[on] - lambda * alpha * sign(beta[on])) < tolerance),
              all(abs(g[!on]) <= lambda * alpha + tolerance))
}

# glmnet's L2 part is relative to the deviation of y
unit <- sqrt(sum(w * (y - sum(w * y) / sum(w))^2) / sum(w))
for (alpha in c(1, 0.5)) {
    fit <- strads(x, y, weights = w, alpha = alpha, standardize = FALSE,
                  nlambda = 20, thresh = 1e-12, devmax = 0, fdev = 0)
    stopifnot(all(fit$gap <= 1e-12), all(diff(fit$lambda) < 0))
    for (k in c(5, 12, 20)) {
        beta <- fit$beta[, k]
        r <- w * (y - fit$a0[k] - as.vector(x %*% beta)) / sum(w)
        stopifnot(abs(sum(r)) < 1e-6)
        kkt(as.vector(crossprod(x, r)), beta, fit$lambda[k], alpha, 1e-5,
            unit)
        stopifnot(abs(fit$dev.ratio[k] -
                      (1 - sum(w * (y - predict(fit, x, fit$lambda[k]))^2) /
                           fit$nulldev)) < 1e-8)
    }
}

# a matrix, whole numbers too, is the same data as its sparse form
full <- matrix(rnorm(n * 7) + 5, n)
for (given in list(as.matrix(x), full, round(full), round(full) == 5)) {
    if (is.numeric(given) && all(given == round(given)))
        storage.mode(given) <- "integer"
    same <- as(as(given, "dMatrix"), "CsparseMatrix")
    for (weights in list(NULL, replace(w, 1:9, 0))) {
        one <- strads(given, y, weights = weights, nlambda = 10)
        two <- strads(same, y, weights = weights, nlambda = 10)
        two$call <- one$call
        # sums over a matrix and over a sparse one round differently
        stopifnot(isTRUE(all.equal(one$sums, two$sums, tolerance = 1e-12)))
        two$sums <- one$sums
        stopifnot(identical(one, two))
    }
}

# a path ends early by default, as glmnet's does
whole <- strads(x, y, devmax = 0, fdev = 0)
early <- strads(x, y)
k <- seq_along(early$lambda)
stopifnot(length(whole$lambda) == 100, length(k) < 100,
          early$a0 == whole$a0[k], early$lambda == whole$lambda[k],
          max(early$dev.ratio) > 0.999 * max(whole$dev.ratio),
          early$gap <= 1e-4)

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

# errors name a wrong parameter and wrong data
for (bad in list("x", NA, -1, NaN, Inf, c(1, 2), NULL, 0.5, TRUE)) {
    for (name in c("alpha", "nlambda", "lambda.min.ratio", "standardize",
                   "intercept", "thresh", "threads", "nfolds", "seed")) {
        fine <- switch(name,
                       alpha = , lambda.min.ratio = , thresh =
                           identical(bad, 0.5) || is.null(bad) &&
                           name == "lambda.min.ratio",
                       standardize = , intercept = identical(bad, TRUE),
                       FALSE)
        if (fine)
            next
        given <- list(x, y, nlambda = 3)
        given[name] <- list(bad)
        refused(do.call(cv.strads, given), name)
    }
}
refused(strads(x, y, lambda = "x"), "lambda")
refused(strads(x, y, devmax = 2), "devmax")
refused(strads(x, y, fdev = NA), "fdev")
refused(strads(x, y, lambda = c(1, -1)), "lambda")
refused(strads(x, c(NA, y[-1])), "missing")
refused(strads(x, c(Inf, y[-1])), "y has a value")
refused(strads(x, c(1e200, y[-1])), "y has a value")
refused(strads(x, letters[seq_len(n) %% 3 + 1]), "family \"multinomial\"")
refused(strads(x, letters[seq_len(n) %% 2 + 1]), "family \"binomial\"")
refused(strads(x, y, "coxx"), "\"cox\"")
refused(strads(x, y, Gamma()), "link inverse")
refused(strads(x, -abs(y), "poisson"), "from 0 up")
refused(strads(x, y, lower.limits = seq(-1, 0, length.out = p)), "differ")
refused(strads(x, y, nlamda = 3), "no argument nlamda")
refused(strads(x, y, penalty.factor = 1), "penalty.factor")
refused(cv.strads(x, y, type.measure = "auc"), "type.measure")
refused(cv.strads(x, y, foldid = rep(1, n)), "one fold")
refused(strads(replace(as.matrix(x), 3, Inf), y), "infinite")
refused(strads(replace(x, 3, -Inf), y), "infinite")
refused(strads(replace(as.matrix(x), 3, NA), y), "missing")
refused(strads(list(1), y), "expected a numeric matrix")
refused(strads(x[0, ], y[0]), "rows")
for (bad in list("x", w[-1], replace(w, 2, -1), replace(w, 2, NaN),
                 replace(w, 2, Inf), 0 * w))
    refused(strads(x, y, weights = bad), "weights")

# a class without weighted rows is left out
three <- rep(c("a", "b", "c"), length.out = n)
counts <- as.numeric(three != "c")
fit <- strads(x, three, "binomial", weights = counts, nlambda = 5)
rest <- three != "c"
alone <- strads(x[rest, ], three[rest], "binomial", weights = counts[rest],
                nlambda = 5)
stopifnot(identical(fit$classes, c("a", "b")), identical(fit$beta, alone$beta))
refused(strads(x, three, "binomial", weights = as.numeric(three == "b")),
        "takes two classes")

# a fit warns if and only if it does not converge
warns <- function(call) {
    said <- NULL
    withCallingHandlers(call, warning = function(w) {
        said <<- c(said, conditionMessage(w))
        invokeRestart("muffleWarning")
    })
    said
}
stopifnot(is.null(warns(strads(x, y))), is.null(warns(cv.strads(x, y))))
said <- warns(strads(x, y, thresh = 1e-17))
stopifnot(length(said) == 1, grepl("did not converge: relative gap", said),
          grepl("thresh = 1e-17", said))
stopifnot(any(grepl("folds' paths", warns(cv.strads(x, y, thresh = 1e-17)))))

# A pack: its size, and what is refused; the command fits it as the matrix
file <- tempfile(fileext = ".pack")
made <- strads.pack(x, y, file, weights = w)
stopifnot(made$rows == n, made$columns == p, made$entries == length(x@x),
          made$bytes == file.size(file))
said <- tryCatch(strads.pack(x, y, file.path(tempdir(), "none", "x.pack")),
                 error = conditionMessage)
stopifnot(grepl("x.pack", said))
said <- tryCatch(strads.pack(x, letters[1:10], file), error = conditionMessage)
stopifnot(grepl("expected numbers", said))
command <- Sys.getenv("STRADS_BIN")
if (nzchar(command)) {
    model <- tempfile(fileext = ".json")
    fit <- strads(x, y, weights = w, standardize = FALSE, thresh = 1e-10,
                  lambda = 0.05)
    code <- system2(command, c("lasso", "train", file, "--lambda", "0.05",
                               "--tolerance", "1e-10", "--quiet", "--model",
                               model))
    text <- paste(readLines(model), collapse = "")
    given <- sub('.*"objective": *([0-9.e+-]+).*', "\\1", text)
    r <- y - fit$a0 - as.vector(x %*% fit$beta)
    mine <- sum(w * r^2) / (2 * sum(w)) + 0.05 * sum(abs(fit$beta))
    stopifnot(code == 0, abs(as.numeric(given) / mine - 1) < 1e-8)
}
unlink(file)

# Ctrl-C ends a fit; the condition has the points so far
if (.Platform$OS.type == "unix") {
    tall <- matrix(rnorm(2e5), 1000)
    z <- as.vector(tall %*% rnorm(200)) + rnorm(1000)
    interrupted <- function(call) {
        system(paste0("(sleep 0.5; kill -INT ", Sys.getpid(), ") &"))
        tryCatch(call, interrupt = identity)
    }
    ended <- interrupted(strads(tall, z, nlambda = 10000, thresh = 1e-14,
                                lambda.min.ratio = 1e-6))
    stopifnot(inherits(ended, "interrupt"), length(ended$fit$lambda) < 10000,
              length(ended$fit$lambda) == ncol(ended$fit$beta))
    ended <- interrupted(cv.strads(tall, z, nlambda = 300, nfolds = 500,
                                   thresh = 1e-10))
    stopifnot(inherits(ended, "interrupt"), length(ended$fit$lambda) <= 300)
}
