# Paths and cross-validations of the R package against glmnet, each with its
# defaults: with_paths.R [ROUNDS] [NAME].
#
# Prints for each shape the processor seconds of both (medians of ROUNDS, in
# turn), their ratio, and the worst suboptimality of a point: the objective less
# that of a tight fit of the same lambdas, over the null deviance / 2n. Then the
# geometric mean and the largest ratio.
suppressMessages({
    library(Matrix)
    library(glmnet)
    library(strads)
})
argument <- commandArgs(trailingOnly = TRUE)
ROUNDS <- if (length(argument) > 0) as.integer(argument[1]) else 5L
only <- if (length(argument) > 1) argument[2] else ""

dense <- function(n, p, rho = 0) {
    x <- matrix(rnorm(n * p), n)
    if (rho > 0)
        for (j in 2:p)
            x[, j] <- rho * x[, j - 1] + sqrt(1 - rho^2) * x[, j]
    x
}
thin <- function(n, p, density) rsparsematrix(n, p, density)

shapes <- list(
    list("2000 x 500", function() dense(2000, 500)),
    list("200 x 5000", function() dense(200, 5000)),
    list("100000 x 20", function() dense(100000, 20)),
    list("1000 x 200 correlated", function() dense(1000, 200, .9)),
    list("20000 x 5000 sparse", function() thin(20000, 5000, .01)),
    list("2000 x 20000 sparse", function() thin(2000, 20000, .01)))

drawn <- function(make, family) {
    set.seed(1)
    x <- make()
    k <- min(20, ncol(x))
    z <- as.vector(x[, seq_len(k)] %*% rnorm(k))
    y <- z + sd(z) * rnorm(length(z))
    list(x = x, y = if (family == "gaussian") y else factor(y > 0))
}

# The mean loss plus penalty of each column of coefficients.
objectives <- function(d, family, a0, beta, lambda) {
    n <- nrow(d$x)
    scale <- sqrt(pmax(colMeans(d$x^2) - colMeans(d$x)^2, 0))
    z <- sweep(as.matrix(d$x %*% beta), 2, a0, "+")
    loss <- if (family == "gaussian") colSums((d$y - z)^2) / (2 * n)
            else {
                m <- ifelse(d$y == "TRUE", 1, -1) * z
                colMeans(ifelse(m > 0, log1p(exp(-m)), log1p(exp(m)) - m))
            }
    loss + lambda * colSums(abs(beta) * scale)
}

worst <- function(d, family, fit) {
    tight <- strads(d$x, d$y, family, lambda = fit$lambda, thresh = 1e-7)
    ours <- objectives(d, family, fit$a0, fit$beta, fit$lambda)
    best <- objectives(d, family, tight$a0, tight$beta, tight$lambda)
    k <- seq_along(best)
    max(ours[k] - best) / (tight$nulldev / (2 * nrow(d$x)))
}

seconds <- function(call) sum(system.time(call())[c(1, 2)])

row <- function(name, ours, theirs, d, family) {
    mine <- peer <- numeric(ROUNDS)
    for (k in seq_len(ROUNDS)) {
        mine[k] <- seconds(ours)
        peer[k] <- seconds(theirs)
    }
    a <- ours()
    b <- theirs()
    of <- function(fit) if (is.null(fit$lambda.min)) fit else
        if (is.null(fit$strads.fit)) fit$glmnet.fit else fit$strads.fit
    ratio <- median(mine) / median(peer)
    cat(sprintf("%-32s %7.3f %7.3f %6.2f  %4d %4d  %8.1e %8.1e\n", name,
                median(mine), median(peer), ratio, length(of(a)$lambda),
                length(of(b)$lambda), worst(d, family, of(a)),
                worst(d, family, of(b))))
    ratio
}

cat(sprintf("%-32s %7s %7s %6s  %4s %4s  %8s %8s\n", "", "strads", "glmnet",
            "ratio", "pts", "pts", "worst", "worst"))
ratios <- numeric(0)
for (shape in shapes)
    for (family in c("gaussian", "binomial")) {
        name <- paste(shape[[1]], family)
        if (!grepl(only, name))
            next
        d <- drawn(shape[[2]], family)
        ratios <- c(ratios,
                    row(name, function() strads(d$x, d$y, family),
                        function() glmnet(d$x, d$y, family), d, family))
    }
if (length(ratios))
    cat(sprintf("geometric mean %.2f, largest %.2f\n", exp(mean(log(ratios))),
                max(ratios)))
for (family in c("gaussian", "binomial")) {
    name <- paste("cv 2000 x 500", family)
    if (!grepl(only, name))
        next
    d <- drawn(shapes[[1]][[2]], family)
    row(name, function() cv.strads(d$x, d$y, family),
        function() cv.glmnet(d$x, d$y, family = family), d, family)
}
