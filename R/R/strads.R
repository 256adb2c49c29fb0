# Paths of penalised linear models, with glmnet's verbs.

refuse <- function(name, value, expected)
    stop(name, " is ", paste(deparse(value, nlines = 1), collapse = ""),
         ": expected ", expected, call. = FALSE)

# Stops unless `value` is one number, of these.
number <- function(name, value, expected, fits, whole = FALSE) {
    if (!is.numeric(value) || length(value) != 1 || !is.finite(value) ||
        (whole && value != round(value)) || !fits(value))
        refuse(name, value, expected)
}

yes_or_no <- function(name, value)
    if (!is.logical(value) || length(value) != 1 || is.na(value))
        refuse(name, value, "TRUE or FALSE")

check_parameters <- function(alpha, nlambda, lambda.min.ratio, standardize,
                             intercept, thresh, threads) {
    number("alpha", alpha, "the share of the l1 penalty, 0 or from 0.001 to 1",
           function(v) v == 0 || (v >= 0.001 && v <= 1))
    number("nlambda", nlambda, "a whole number from 1 to 10000",
           function(v) v >= 1 && v <= 10000, TRUE)
    if (!is.null(lambda.min.ratio))
        number("lambda.min.ratio", lambda.min.ratio,
               "a number above 0 and below 1", function(v) v > 0 && v < 1)
    yes_or_no("standardize", standardize)
    yes_or_no("intercept", intercept)
    number("thresh", thresh, "a number above 0", function(v) v > 0)
    number("threads", threads, "a whole number from 1 up, or 0 for one a core",
           function(v) v >= 0 && v < 2^31, TRUE)
}

entries <- function(x) if (is.matrix(x)) x else x@x

# x as .Call takes it: starts and indices of a dgCMatrix, or NULL, and values.
starts <- function(x) if (is.matrix(x)) NULL else x@p
indices <- function(x) if (is.matrix(x)) NULL else x@i

# Rows with positive weight: x as a matrix of doubles or a dgCMatrix, y as
# numbers, their weights (NULL: all 1), and the names of the classes and columns.
design <- function(x, y, family, weights) {
    if (!(is.matrix(x) && (is.numeric(x) || is.logical(x))) &&
        !is(x, "Matrix"))
        stop("x is a ", class(x)[1], ": expected a numeric matrix, or one of ",
             "package Matrix", call. = FALSE)
    if (!is.matrix(x))
        x <- as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
    else if (!is.double(x))
        storage.mode(x) <- "double"
    if (nrow(x) == 0 || ncol(x) == 0)
        stop("x has ", nrow(x), " rows and ", ncol(x), " columns: expected one ",
             "of each at least", call. = FALSE)
    if (length(y) != nrow(x))
        stop("y has ", length(y), " values and x ", nrow(x),
             " rows: expected one for each", call. = FALSE)
    if (family == "gaussian" && !is.numeric(y) && !is.logical(y))
        stop("y is a ", class(y)[1], ": expected numbers; for two classes use ",
             "family \"binomial\"", call. = FALSE)
    if (anyNA(y) || anyNA(entries(x)))
        stop("x or y has missing values", call. = FALSE)
    if (length(entries(x)) > 0 && any(!is.finite(range(entries(x)))))
        stop("x has infinite values: expected finite ones", call. = FALSE)
    weights <- row_weights(weights, nrow(x))
    if (!is.null(weights) && any(weights == 0)) {
        x <- x[weights > 0, , drop = FALSE]
        y <- y[weights > 0]
        weights <- weights[weights > 0]
    }
    classes <- NULL
    if (family == "binomial") {
        y <- factor(y)
        classes <- levels(y)
        if (length(classes) != 2)
            stop("family \"binomial\" takes two classes; y has ",
                 length(classes), if (!is.null(weights))
                 " in rows whose weight is not 0", call. = FALSE)
        y <- as.integer(y) - 1
    }
    y <- as.double(y)
    if (any(!(abs(y) < 1e140)))
        stop("y has a value of ", format(max(abs(y))), ": expected numbers ",
             "below 1e140, scale y down", call. = FALSE)
    list(x = x, y = y, classes = classes, weights = weights,
         names = if (is.null(colnames(x))) paste0("V", seq_len(ncol(x)))
                 else colnames(x))
}

row_weights <- function(weights, n) {
    if (is.null(weights))
        return(NULL)
    if (!is.numeric(weights) || length(weights) != n ||
        any(!is.finite(weights)) || any(weights < 0))
        stop("weights: expected ", n, " finite numbers from 0 up",
             call. = FALSE)
    if (all(weights == 0))
        stop("weights: all rows weigh 0, expected one at least that counts",
             call. = FALSE)
    as.double(weights)
}

# Warns of the points of a path that did not reach `thresh`.
warn_of_points <- function(what, lambda, gap, thresh) {
    short <- which(!(gap <= thresh))
    if (length(short)) {
        worst <- short[which.max(gap[short])]
        warning(what, ": ", length(short), " of ", length(gap),
                " points did not converge: relative gap ",
                format(gap[worst], digits = 3), " at lambda = ",
                format(lambda[worst], digits = 6),
                ", expected at most thresh = ", format(thresh),
                "; scale the columns, end the path at a larger lambda ",
                "(lambda.min.ratio) or raise thresh", call. = FALSE)
    }
}

# Raises an interrupt condition, with the points so far as `fit`.
interrupt <- function(fit)
    stop(structure(class = c("strads.interrupt", "interrupt", "condition"),
                   list(message = "interrupted", call = NULL, fit = fit)))

strads <- function(x, y, family = c("gaussian", "binomial"), weights = NULL,
                   alpha = 1, nlambda = 100, lambda.min.ratio = NULL,
                   lambda = NULL, standardize = TRUE, intercept = TRUE,
                   thresh = 1e-4, threads = 1, devmax = 0.999, fdev = 1e-5) {
    call <- match.call()
    family <- match.arg(family)
    check_parameters(alpha, nlambda, lambda.min.ratio, standardize, intercept,
                     thresh, threads)
    number("devmax", devmax, "a number from 0 to 1, 0 for no early end",
           function(v) v >= 0 && v <= 1)
    number("fdev", fdev, "a number from 0 to 1, 0 for no early end",
           function(v) v >= 0 && v <= 1)
    d <- design(x, y, family, weights)
    n <- nrow(d$x)
    if (is.null(lambda.min.ratio))
        lambda.min.ratio <- if (n < ncol(d$x)) 0.01 else 1e-4
    if (!is.null(lambda)) {
        if (!is.numeric(lambda) || length(lambda) == 0 ||
            any(!is.finite(lambda)) || any(lambda <= 0))
            stop("lambda: expected numbers above 0", call. = FALSE)
        lambda <- sort(as.double(lambda), decreasing = TRUE)
    }
    fit <- .Call(C_path, starts(d$x), indices(d$x), entries(d$x), dim(d$x),
                 d$y, d$weights, family == "binomial", as.double(alpha), as.integer(nlambda),
                 as.double(lambda.min.ratio), lambda, as.logical(standardize),
                 as.logical(intercept), as.double(thresh),
                 as.integer(threads), as.double(devmax), as.double(fdev))
    if (fit$interrupted && length(fit$lambda) == 0)
        interrupt(NULL)
    made <- as_path(fit, d, family, intercept, call)
    if (fit$interrupted)
        interrupt(made)
    warn_of_points("path", fit$lambda, fit$gap, thresh)
    made
}

# Converts the result of .Call(C_path) to an object of class "strads".
as_path <- function(fit, d, family, intercept, call) {
    n <- nrow(d$x)
    weights <- d$weights
    beta <- sparseMatrix(i = fit$i, p = fit$p, x = fit$x, index1 = FALSE,
                         dims = c(ncol(d$x), length(fit$lambda)),
                         dimnames = list(d$names,
                                         paste0("s", seq_along(fit$lambda) -
                                                       1)))
    w <- if (is.null(weights)) rep(1, n) else weights
    centre <- if (intercept) sum(w * d$y) / sum(w) else 0
    null <- if (family == "gaussian") sum(w * (d$y - centre)^2)
            else {
                p <- if (intercept) centre else 0.5
                -2 * sum(w * (d$y * log(p) + (1 - d$y) * log(1 - p)))
            }
    structure(list(call = call, family = family, classes = d$classes,
                   a0 = fit$a0, beta = beta, lambda = fit$lambda,
                   df = diff(fit$p), dev.ratio = 1 - fit$deviance / null,
                   nulldev = null, gap = fit$gap, dim = dim(beta), nobs = n),
              class = "strads")
}

print.strads <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    cat("\nCall: ", deparse(x$call), "\n\n")
    print(cbind(Df = x$df, "%Dev" = signif(100 * x$dev.ratio, digits),
                Lambda = signif(x$lambda, digits)))
    invisible(x)
}

# Coefficients at s, by linear interpolation between points of the path.
coef.strads <- function(object, s = NULL, ...) {
    all <- rbind(matrix(object$a0, 1, dimnames = list("(Intercept)", NULL)),
                 as.matrix(object$beta))
    if (!is.null(s)) {
        at <- pmin(pmax(as.double(s), min(object$lambda)), max(object$lambda))
        place <- if (length(object$lambda) == 1) rep(1, length(at))
                 else approx(object$lambda, seq_along(object$lambda), at)$y
        low <- floor(place)
        high <- ceiling(place)
        share <- place - low
        all <- sweep(all[, low, drop = FALSE], 2, 1 - share, "*") +
            sweep(all[, high, drop = FALSE], 2, share, "*")
        colnames(all) <- paste0("s", seq_along(at))
    }
    as(as(as(all, "dMatrix"), "generalMatrix"), "CsparseMatrix")
}

predict.strads <- function(object, newx, s = NULL,
                           type = c("link", "response", "class",
                                    "coefficients", "nonzero"), ...) {
    type <- match.arg(type)
    b <- coef(object, s)
    if (type == "coefficients")
        return(b)
    if (type == "nonzero")
        return(lapply(seq_len(ncol(b)), function(k) which(b[-1, k] != 0)))
    if (missing(newx))
        stop("newx is missing: the rows to predict", call. = FALSE)
    if (ncol(newx) != nrow(b) - 1)
        stop("newx has ", ncol(newx), " columns and the model ", nrow(b) - 1,
             call. = FALSE)
    link <- as.matrix(newx %*% b[-1, , drop = FALSE]) +
        rep(as.double(b[1, ]), each = nrow(newx))
    if (type == "link" || object$family == "gaussian")
        return(link)
    if (type == "response")
        return(1 / (1 + exp(-link)))
    matrix(object$classes[(link > 0) + 1], nrow(link),
           dimnames = dimnames(link))
}

plot.strads <- function(x, xvar = c("lambda", "norm"), label = 6, ...) {
    xvar <- match.arg(xvar)
    beta <- as.matrix(x$beta)
    at <- if (xvar == "lambda") log(x$lambda) else colSums(abs(beta))
    drawn <- which(rowSums(beta != 0) > 0)
    matplot(at, t(beta[drawn, , drop = FALSE]), type = "l", lty = 1,
            xlab = if (xvar == "lambda") "log lambda" else "L1 norm",
            ylab = "coefficient", ...)
    axis(3, at = pretty(at),
         labels = approx(at, x$df, pretty(at), rule = 2)$y |> round())
    last <- beta[drawn, ncol(beta)]
    named <- drawn[order(-abs(last))][seq_len(min(label, length(drawn)))]
    if (length(named))
        axis(4, at = beta[named, ncol(beta)], labels = rownames(beta)[named],
             las = 1, cex.axis = 0.7, tick = FALSE, line = -0.8)
    invisible(x)
}

cv.strads <- function(x, y, family = c("gaussian", "binomial"), weights = NULL,
                      nfolds = 10, alpha = 1, nlambda = 100,
                      lambda.min.ratio = NULL, standardize = TRUE,
                      intercept = TRUE, thresh = 1e-4, threads = 1,
                      seed = 0, devmax = 0.999, fdev = 1e-5) {
    family <- match.arg(family)
    number("nfolds", nfolds, "a whole number from 2 up",
           function(v) v >= 2 && v < 2^31, TRUE)
    number("seed", seed, "a whole number from 0 up",
           function(v) v >= 0 && v <= 2^53, TRUE)
    fit <- strads(x, y, family, weights, alpha, nlambda, lambda.min.ratio,
                  NULL, standardize, intercept, thresh, threads, devmax, fdev)
    d <- design(x, y, family, weights)
    ratio <- min(fit$lambda) / max(fit$lambda)
    cv <- .Call(C_cv, starts(d$x), indices(d$x), entries(d$x), dim(d$x), d$y,
                d$weights, family == "binomial",
                as.double(alpha), length(fit$lambda), ratio, max(fit$lambda),
                as.logical(standardize), as.logical(intercept),
                as.double(thresh), as.integer(threads), as.integer(nfolds),
                as.double(seed))
    if (cv$interrupted)
        interrupt(fit)
    warn_of_points("folds' paths", cv$lambda, cv$gap, thresh)
    structure(list(call = match.call(), lambda = cv$lambda, cvm = cv$error,
                   cvsd = cv$deviation, cvup = cv$error + cv$deviation,
                   cvlo = cv$error - cv$deviation, nzero = fit$df,
                   name = if (family == "gaussian") "Mean-Squared Error"
                          else "Binomial Deviance",
                   strads.fit = fit, lambda.min = cv$lambda[cv$best],
                   lambda.1se = cv$lambda[cv$simplest]),
              class = "cv.strads")
}

at_lambda <- function(object, s) {
    if (is.character(s)) {
        s <- match.arg(s, c("lambda.1se", "lambda.min"))
        object[[s]]
    } else s
}

coef.cv.strads <- function(object, s = "lambda.1se", ...)
    coef(object$strads.fit, at_lambda(object, s))

predict.cv.strads <- function(object, newx, s = "lambda.1se", ...)
    predict(object$strads.fit, newx, at_lambda(object, s), ...)

print.cv.strads <- function(x, digits = max(3, getOption("digits") - 3), ...) {
    cat("\nCall: ", deparse(x$call), "\n\nMeasure:", x$name, "\n\n")
    at <- match(c(x$lambda.min, x$lambda.1se), x$lambda)
    print(data.frame(Lambda = signif(x$lambda[at], digits), Index = at,
                     Measure = signif(x$cvm[at], digits),
                     SE = signif(x$cvsd[at], digits), Nonzero = x$nzero[at],
                     row.names = c("min", "1se")))
    invisible(x)
}

plot.cv.strads <- function(x, ...) {
    at <- log(x$lambda)
    plot(at, x$cvm, ylim = range(x$cvlo, x$cvup), xlab = "log lambda",
         ylab = x$name, type = "n", ...)
    arrows(at, x$cvlo, at, x$cvup, angle = 90, code = 3, length = 0.02,
           col = "grey60")
    points(at, x$cvm, pch = 20, col = "firebrick")
    abline(v = log(c(x$lambda.min, x$lambda.1se)), lty = 3)
    axis(3, at = at, labels = x$nzero, tick = FALSE, line = -0.5)
    invisible(x)
}

# Writes x and y as a pack, which the command trains on.
strads.pack <- function(x, y, file, weights = NULL,
                        values = c("exact", "f16", "f32")) {
    values <- match.arg(values)
    if (!is.character(file) || length(file) != 1 || is.na(file) || file == "")
        refuse("file", file, "the name of a file")
    if (!is.numeric(y) && !is.logical(y))
        stop("y is a ", class(y)[1], ": expected numbers; for classes give ",
             "their numbers", call. = FALSE)
    weights <- row_weights(weights, length(y))
    d <- design(x, y, "gaussian", NULL) # rows of weight 0 stay
    made <- .Call(C_pack, starts(d$x), indices(d$x), entries(d$x), dim(d$x),
                  d$y, weights, path.expand(file),
                  match(values, c("exact", "f16", "f32")) - 1L)
    if (made$interrupted)
        interrupt(NULL)
    invisible(made[c("rows", "columns", "entries", "bytes")])
}
