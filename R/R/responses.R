# Several responses (family "mgaussian"): a group penalty on the coefficients
# that a column has for all of them.

response_matrix <- function(y) {
    if (is.data.frame(y))
        y <- as.matrix(y)
    if (!is.matrix(y) || !(is.numeric(y) || is.logical(y)) || ncol(y) < 2)
        stop("y: family \"mgaussian\" takes a numeric matrix with two columns ",
             "or more", call. = FALSE)
    storage.mode(y) <- "double"
    names <- colnames(y)
    if (is.null(names))
        names <- rep("", ncol(y))
    blank <- is.na(names) | names == ""
    names[blank] <- paste0("y", seq_len(ncol(y)))[blank]
    colnames(y) <- make.unique(names)
    rownames(y) <- NULL
    y
}

# The problem of k responses as one of least squares: the columns of y below
# each other, and x once for each of them on the diagonal. The k coefficients of
# a column are a group, whose penalty the library multiplies by sqrt(k). An
# intercept for each response comes from centred columns, or for sparse x from a
# column of ones without a penalty, as centred columns would not be sparse.
stacked <- function(d, w, settings, f) {
    k <- ncol(d$y)
    n <- nrow(d$y)
    if (settings$alpha != 1)
        stop("alpha is ", settings$alpha, ": expected 1, family \"mgaussian\" ",
             "has a group penalty without an L2 part", call. = FALSE)
    if (settings$lower > -.Machine$double.xmax ||
        settings$upper < .Machine$double.xmax)
        stop("family \"mgaussian\" takes no limits", call. = FALSE)
    x <- d$x
    factor <- if (is.null(f$factor)) rep(1, ncol(x)) else f$factor
    d$responses <- colnames(d$y)
    d$scale <- if (settings$standardize) deviations(x, d$weights)
               else rep(1, ncol(x))
    d$centre <- rep(0, ncol(x))
    d$mean <- rep(0, k)
    d$ones <- settings$intercept && !is.matrix(x)
    if (settings$intercept)
        d$mean <- colSums(w * d$y) / sum(w)
    if (is.matrix(x)) {
        if (settings$intercept)
            d$centre <- colSums(w * x) / sum(w)
        x <- sweep(sweep(x, 2, d$centre), 2, d$scale, "/")
        x <- list(i = rep(seq_len(n) - 1L, ncol(x)),
                  p = n * seq(0, ncol(x)), x = as.double(x))
    } else {
        x <- as(x %*% Diagonal(x = 1 / d$scale), "CsparseMatrix")
        x <- list(i = x@i, p = x@p, x = x@x)
        if (d$ones) {
            x <- list(i = c(x$i, seq_len(n) - 1L), p = c(x$p, length(x$i) + n),
                      x = c(x$x, rep(1, n)))
            factor <- c(factor, 0)
        }
    }
    columns <- length(factor)
    if (k * max(length(x$i), n, columns) >= 2^31)
        stop("x has too many entries: family \"mgaussian\" takes ", k,
             " copies of it, expected below 2^31 entries", call. = FALSE)
    d$columns <- columns
    d$x <- methods::new(
        "dgCMatrix", Dim = as.integer(c(k * n, k * columns)),
        i = rep(x$i, k) + rep((seq_len(k) - 1L) * n, each = length(x$i)),
        p = as.integer(c(0, cumsum(rep(diff(x$p), k)))), x = rep(x$x, k))
    d$y <- as.double(sweep(d$y, 2, d$mean))
    d$weights <- if (!is.null(d$weights)) rep(d$weights, k)
    d$unit <- k * sqrt(k) # of lambda
    if (!is.null(settings$lambda))
        settings$lambda <- settings$lambda / d$unit
    settings$group <- rep(seq_len(columns) - 1L, k)
    settings$factor <- rep(factor, k)
    settings$standardize <- settings$intercept <- FALSE
    list(d = d, settings = settings)
}

as_responses <- function(fit, p, dfmax) {
    d <- p$d
    n <- length(fit$lambda)
    k <- length(d$responses)
    steps <- paste0("s", seq_len(n) - 1)
    values <- array(0, c(d$columns, k, n))
    values[fit$i + 1 + rep(seq_len(n) - 1, diff(fit$p)) * (d$columns * k)] <-
        fit$x
    on <- seq_along(d$scale)
    a0 <- matrix(d$mean, k, n, dimnames = list(d$responses, steps))
    if (d$ones)
        a0 <- a0 + matrix(values[d$columns, , ], k, n)
    beta <- lapply(stats::setNames(seq_len(k), d$responses), function(r) {
        part <- matrix(0, length(p$whole$names), n,
                       dimnames = list(p$whole$names, steps))
        part[p$whole$kept, ] <- values[on, r, ] / d$scale
        a0[r, ] <<- a0[r, ] - colSums(d$centre * part[p$whole$kept, ,
                                                      drop = FALSE])
        sparse(part)
    })
    used <- Reduce(`|`, lapply(beta, function(b) as.matrix(b != 0)))
    cut_path(list(family = p$family, classes = d$responses, a0 = a0,
                  beta = beta, lambda = fit$lambda * d$unit,
                  df = colSums(used), dev.ratio = 1 - fit$deviance / p$null,
                  nulldev = p$null, gap = fit$gap, dim = dim(beta[[1]]),
                  nobs = nrow(d$x) / k), dfmax)
}
