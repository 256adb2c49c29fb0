# glmnet as a peer: with_glmnet.R DIR KIND [intercept].
#
# DIR is the folder that with_yardstick.py wrote, KIND one of its kinds. Prints "ready"
# when the data is there; then each line "WEIGHT SETTING OUT" is a fit, and is
# answered with the seconds of the fit alone. OUT gets a line "COLUMN VALUE" a
# nonzero, column 0 the intercept, of a path "POINT COLUMN VALUE", of several
# classes "CLASS COLUMN VALUE", classes from 0.
#
# WEIGHT is lambda, of a path the first of POINTS down to a hundredth of it; "cv"
# and "cv-logistic" are a path and one for each of FOLDS, by cv.glmnet.
# SETTING is single/THRESH or path/THRESH: the one lambda at once, or ten from
# lambda_max down to it, each from the last.
suppressMessages(library(Matrix))
suppressMessages(library(glmnet))
DENSE <- 0.25 # from here on a dense matrix is the faster form
POINTS <- 100
FOLDS <- 5
paths <- c("path", "cv", "cv-logistic")

argument <- commandArgs(trailingOnly = TRUE)
folder <- argument[1]
kind <- argument[2]

numbers <- function(name, what, size) {
    path <- file.path(folder, name)
    readBin(path, what, n = file.size(path) / size, size = size)
}
start <- numbers("start.i4", "integer", 4)
y <- numbers("label.f8", "double", 8)
x <- new("dgCMatrix", p = start, i = numbers("index.i4", "integer", 4),
         x = numbers("value.f8", "double", 8),
         Dim = c(length(y), length(start) - 1L))
most <- max(abs(crossprod(x, y))) / length(y)
intercept <- length(argument) > 2
share <- switch(kind, "elastic-net" = .5, "elastic-logistic" = .5,
                "l2-logistic" = 0, 1)
family <- if (grepl("logistic", kind)) "binomial" else
    if (kind %in% c("poisson", "multinomial")) kind else "gaussian"
if (family == "multinomial") {
    of <- outer(y, sort(unique(y)), "==") + 0
    most <- max(abs(crossprod(x, sweep(of, 2, colMeans(of))))) / length(y)
} else if (intercept) most <- max(abs(crossprod(x, y - mean(y)))) / length(y)
most <- most / max(share, .001)
if (family == "binomial") {
    most <- most / 2
    y <- as.numeric(y > 0)
}
if (length(x@x) > DENSE * prod(dim(x))) x <- as.matrix(x)
glmnet.control(fdev = 0, devmax = 1)

lambdas <- function(weight, how) {
    if (kind %in% paths) return(weight * 0.01^((seq(POINTS) - 1) / (POINTS - 1)))
    if (how == "single") return(weight)
    exp(seq(log(most), log(weight), length.out = 10))
}

# glmnet warns and stops at a point that it cannot fit: a shorter path shows in its
# missing points.
fit <- function(weight, setting, out) {
    how <- strsplit(setting, "/")[[1]]
    if (kind == "l2-logistic") weight <- 1 / (weight * length(y)) # it is C
    lambda <- lambdas(weight, how[1])
    begun <- Sys.time()
    with <- list(x = x, y = y, family = family, lambda = lambda,
                 standardize = FALSE, alpha = share, intercept = intercept,
                 thresh = as.numeric(how[2]), maxit = 1e9)
    model <- suppressWarnings(
        if (startsWith(kind, "cv"))
            do.call(cv.glmnet, c(with, nfolds = FOLDS))$glmnet.fit
        else do.call(glmnet, with))
    seconds <- as.numeric(Sys.time() - begun, units = "secs")
    if (kind == "multinomial") {
        text <- lapply(seq_along(model$beta), function(k) {
            w <- model$beta[[k]][, length(lambda)]
            at <- which(w != 0)
            sprintf("%d %d %.17g", k - 1L, c(0L, at),
                    c(model$a0[k, length(lambda)], w[at]))
        })
        writeLines(unlist(text), out)
        return(seconds)
    }
    w <- as(model$beta, "CsparseMatrix")
    if (kind %in% paths) {
        at <- summary(w)
        writeLines(sprintf("%d %d %.17g", at$j - 1L, at$i, at$x), out)
    } else {
        last <- w[, ncol(w)]
        at <- which(last != 0)
        b <- if (intercept) model$a0[length(model$a0)] else numeric(0)
        writeLines(sprintf("%d %.17g", c(0L[intercept], at), c(b, last[at])),
                   out)
    }
    seconds
}

asked <- file("stdin", open = "r")
cat("ready\n")
flush(stdout())
while (length(line <- readLines(asked, n = 1)) > 0) {
    word <- strsplit(line, " ")[[1]]
    cat(sprintf("%.6f\n", fit(as.numeric(word[1]), word[2], word[3])))
    flush(stdout())
}
