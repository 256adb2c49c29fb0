# Paths of penalised linear models, with glmnet's verbs.

# x as the slots of a dgCMatrix; y as numbers, and the names of its classes.
design <- function(x, y, family) {
    x <- as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
    if (length(y) != nrow(x))
        stop("y has ", length(y), " values and x ", nrow(x),
             " rows: expected one for each", call. = FALSE)
    classes <- NULL
    if (family == "binomial") {
        y <- as.factor(y)
        classes <- levels(y)
        if (length(classes) != 2)
            stop("family \"binomial\" takes two classes; y has ",
                 length(classes), call. = FALSE)
        y <- as.integer(y) - 1
    }
    y <- as.double(y)
    if (anyNA(y) || anyNA(x@x))
        stop("x or y has missing values", call. = FALSE)
    list(x = x, y = y, classes = classes,
         names = if (is.null(colnames(x))) paste0("V", seq_len(ncol(x)))
                 else colnames(x))
}

row_weights <- function(weights, n) {
    if (is.null(weights))
        return(NULL)
    weights <- as.double(weights)
    if (length(weights) != n || anyNA(weights) || any(weights < 0))
        stop("weights: expected ", n, " numbers from 0 up", call. = FALSE)
    weights
}

strads <- function(x, y, family = c("gaussian", "binomial"), weights = NULL,
                   alpha = 1, nlambda = 100, lambda.min.ratio = NULL,
                   lambda = NULL, standardize = TRUE, intercept = TRUE,
                   thresh = 1e-6, threads = 1) {
    family <- match.arg(family)
    d <- design(x, y, family)
    n <- nrow(d$x)
    if (is.null(lambda.min.ratio))
        lambda.min.ratio <- if (n < ncol(d$x)) 0.01 else 1e-4
    if (!is.null(lambda)) {
        lambda <- sort(as.double(lambda), decreasing = TRUE)
        if (any(!is.finite(lambda)) || any(lambda <= 0))
            stop("lambda: expected numbers above 0", call. = FALSE)
    }
    weights <- row_weights(weights, n)
    fit <- .Call(C_path, d$x@p, d$x@i, d$x@x, dim(d$x), d$y, weights,
                 family == "binomial", as.double(alpha), as.integer(nlambda),
                 as.double(lambda.min.ratio), lambda, as.logical(standardize),
                 as.logical(intercept), as.double(thresh),
                 as.integer(threads))
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
    structure(list(call = match.call(), family = family, classes = d$classes,
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
                      intercept = TRUE, thresh = 1e-6, threads = 1,
                      seed = 0) {
    family <- match.arg(family)
    fit <- strads(x, y, family, weights, alpha, nlambda, lambda.min.ratio,
                  NULL, standardize, intercept, thresh, threads)
    d <- design(x, y, family)
    ratio <- min(fit$lambda) / max(fit$lambda)
    cv <- .Call(C_cv, d$x@p, d$x@i, d$x@x, dim(d$x), d$y,
                row_weights(weights, nrow(d$x)), family == "binomial",
                as.double(alpha), length(fit$lambda), ratio, max(fit$lambda),
                as.logical(standardize), as.logical(intercept),
                as.double(thresh), as.integer(threads), as.integer(nfolds),
                as.double(seed))
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
