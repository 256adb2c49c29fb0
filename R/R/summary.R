# Standard errors of fits without a penalty.

summary.strads <- function(object, ...) {
    if (object$family %in% c("multinomial", "mgaussian", "cox", "quantile"))
        stop("summary: there are no standard errors of family \"",
             object$family, "\"", call. = FALSE)
    d <- object$data
    if (is.null(d))
        stop("summary: standard errors are for a fit without a penalty, ",
             "expected one with lambda = 0; a penalised fit has a bias",
             call. = FALSE)
    if (object$limited)
        stop("summary: a fit with limits has no standard errors, as a ",
             "coefficient at its limit is not the minimum; fit without ",
             "lower.limits and upper.limits", call. = FALSE)
    if (length(object$kept) < ncol(d$x)) {
        d$x <- d$x[, object$kept, drop = FALSE]
        d$names <- d$names[object$kept]
    }
    call <- object$call
    settings <- list(
        loss = object$loss, parameter = object$parameter, alpha = 0, thresh = 1e-12,
        intercept = object$intercept, lambda = 0)
    made <- in_words_of_r(.Call(C_errors, handed_over(d), settings), d$names)
    if (made$interrupted)
        interrupt(NULL)
    kept <- if (object$intercept) c(length(made$estimate),
                                    seq_along(d$names))
            else seq_along(d$names)
    estimate <- made$estimate[kept]
    error <- made$error[kept]
    z <- estimate / error
    p <- if (made$estimated) 2 * stats::pt(-abs(z), made$dof)
         else 2 * stats::pnorm(-abs(z))
    letter <- if (made$estimated) "t" else "z"
    table <- cbind(estimate, error, z, p)
    dimnames(table) <- list(c(if (object$intercept) "(Intercept)", d$names),
                            c("Estimate", "Std. Error",
                              paste(letter, "value"),
                              paste0("Pr(>|", letter, "|)")))
    w <- if (is.null(d$weights)) rep(1, nrow(d$x)) else d$weights
    structure(list(call = call, family = object$family, coefficients = table,
                   dispersion = made$dispersion, estimated = made$estimated,
                   df.residual = made$dof,
                   deviance = 2 * sum(w) * made$objective,
                   null.deviance = object$nulldev, gap = made$gap),
              class = "summary.strads")
}

print.summary.strads <- function(x, digits = max(3, getOption("digits") - 3),
                                 ...) {
    cat("\nCall: ", paste(deparse(x$call), collapse = "\n"), "\n\n")
    stats::printCoefmat(x$coefficients, digits = digits, ...)
    cat("\nDispersion", format(signif(x$dispersion, digits)),
        if (x$estimated) "(estimated)" else "(of the family)",
        "\nNull deviance    ", format(signif(x$null.deviance, digits)),
        "\nResidual deviance", format(signif(x$deviance, digits)), "on",
        x$df.residual, "degrees of freedom\n")
    invisible(x)
}

confint.strads <- function(object, parm, level = 0.95, ...) {
    number("level", level, "a number above 0 and below 1",
           function(v) v > 0 && v < 1)
    s <- summary(object)
    table <- s$coefficients
    if (missing(parm))
        parm <- rownames(table)
    else if (is.numeric(parm))
        parm <- rownames(table)[parm]
    half <- (1 - level) / 2
    reach <- if (s$estimated) stats::qt(1 - half, s$df.residual)
             else stats::qnorm(1 - half)
    ends <- cbind(table[, 1] - reach * table[, 2],
                  table[, 1] + reach * table[, 2])
    colnames(ends) <- paste(format(100 * c(half, 1 - half), trim = TRUE,
                                   digits = 3), "%")
    ends[parm, , drop = FALSE]
}
