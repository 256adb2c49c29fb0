# One Lasso by glmnet: with_glmnet.R DIR LAMBDA SETTING OUT.
#
# DIR is what with_yardstick left. SETTING is single/THRESH or path/THRESH: the
# one lambda at once, or ten from lambda_max down to it, each from the last.
# Prints the seconds of the fit alone; OUT gets a line "COLUMN VALUE" a nonzero.
suppressMessages(library(Matrix))
suppressMessages(library(glmnet))
DENSE <- 0.25 # from here on a dense matrix is the faster form

argument <- commandArgs(trailingOnly = TRUE)
folder <- argument[1]
penalty <- as.numeric(argument[2])
how <- strsplit(argument[3], "/")[[1]]

numbers <- function(name, what, size) {
    path <- file.path(folder, name)
    readBin(path, what, n = file.size(path) / size, size = size)
}
start <- numbers("start.i4", "integer", 4)
y <- numbers("label.f8", "double", 8)
x <- new("dgCMatrix", p = start, i = numbers("index.i4", "integer", 4),
         x = numbers("value.f8", "double", 8),
         Dim = c(length(y), length(start) - 1L))
if (length(x@x) > DENSE * prod(dim(x))) x <- as.matrix(x)

lambda <- penalty
if (how[1] == "path") {
    most <- max(abs(crossprod(x, y))) / length(y)
    lambda <- exp(seq(log(most), log(penalty), length.out = 10))
}
glmnet.control(fdev = 0, devmax = 1)
begun <- proc.time()[["elapsed"]]
fit <- glmnet(x, y, lambda = lambda, standardize = FALSE, intercept = FALSE,
              thresh = as.numeric(how[2]), maxit = 1e9)
cat(sprintf("%.6f\n", proc.time()[["elapsed"]] - begun))
w <- fit$beta[, ncol(fit$beta)]
w <- w[w != 0]
names(w) <- NULL
at <- which(fit$beta[, ncol(fit$beta)] != 0)
writeLines(sprintf("%d %.17g", at, w), argument[4])
