# Formulas and data frames: their matrix, and the matrix of new rows.

# Factors and strings become a column for each level, as the penalty makes
# coefficients of all of them identifiable.
level_contrasts <- function(frame) {
    named <- names(frame)[vapply(frame, function(v) is.factor(v) ||
                                     is.character(v), NA)]
    lapply(stats::setNames(nm = named), function(k)
        stats::contrasts(factor(frame[[k]]), contrasts = FALSE))
}

matrix_of <- function(terms, frame, contrasts) {
    x <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
    at <- match("(Intercept)", colnames(x))
    attr(x, "assign") <- attr(x, "contrasts") <- NULL
    rownames(x) <- NULL
    if (is.na(at)) x else x[, -at, drop = FALSE]
}

# The matrix of `terms`, and how to make one of new rows. Without a penalty the
# coefficients of all levels are not unique: `unique` is NULL, or for R's
# contrasts, whether the fit has an intercept.
matrix_and_frame <- function(terms, frame, inside, unique) {
    if (is.null(unique)) {
        contrasts <- level_contrasts(inside)
    } else {
        attr(terms, "intercept") <- as.integer(
            unique && attr(terms, "intercept") == 1)
        contrasts <- attr(stats::model.matrix(terms, frame), "contrasts")
    }
    list(x = matrix_of(terms, frame, contrasts),
         frame = list(terms = terms, contrasts = contrasts,
                      levels = stats::.getXlevels(terms, frame)))
}

# For matrix_and_frame(): NULL, or of a fit without a penalty its intercept.
unique_columns <- function(lambda, intercept)
    if (is.numeric(lambda) && length(lambda) == 1 && lambda %in% 0)
        !isFALSE(intercept)

# The matrix of a data frame, and how to make one of new rows.
frame_matrix <- function(x, unique = NULL) {
    terms <- stats::terms(~ ., data = x)
    frame <- stats::model.frame(terms, x, na.action = stats::na.pass)
    matrix_and_frame(terms, frame, frame, unique)
}

# x, y, weights, offset and strata of a formula. `call` has the last three, and
# the subset of rows, as expressions of the data.
formula_parts <- function(formula, data, call, env, unique) {
    given <- list(formula = formula)
    given$data <- data
    for (name in c("subset", "weights", "offset", "strata"))
        given[[name]] <- call[[name]]
    frame <- eval(as.call(c(quote(stats::model.frame), given,
                            drop.unused.levels = TRUE)), env)
    terms <- attr(frame, "terms")
    y <- stats::model.response(frame)
    if (is.null(y))
        stop("the formula has no y: expected y ~ ...", call. = FALSE)
    inside <- stats::delete.response(terms)
    if (any(grepl("^(survival::)?strata\\(", attr(inside, "term.labels"))))
        stop("the formula has a term strata(...), which would be columns: ",
             "leave it out and give strata = ... as an argument",
             call. = FALSE)
    made <- matrix_and_frame(inside, frame, frame[intersect(
        names(frame), attr(inside, "term.labels"))], unique)
    list(x = made$x, y = y, weights = stats::model.weights(frame),
         offset = stats::model.offset(frame),
         strata = stats::model.extract(frame, "strata"),
         intercept = attr(terms, "intercept") == 1, frame = made$frame)
}

# What `call` gives as x, y, weights, offset and strata: a formula with data, a
# data frame or a matrix. The data of a formula may be in the place of y.
read_input <- function(x, y, data, weights, offset, strata, call, env,
                       unique) {
    if (inherits(x, "formula")) {
        if (!missing(y)) {
            if (!is.null(data))
                stop("y is ", paste(deparse(call$y, nlines = 1),
                                    collapse = ""),
                     ": a formula has y in it; give other arguments by name, ",
                     "such as family = \"poisson\"", call. = FALSE)
            data <- y
        }
        if (!is.null(data) && !is.list(data) && !is.environment(data))
            stop("data is a ", class(data)[1], ": expected the data frame of ",
                 "the formula; give other arguments by name, such as ",
                 "family = \"poisson\"", call. = FALSE)
        return(formula_parts(x, data, call, env, unique))
    }
    if (!is.null(call$subset))
        stop("subset: is for a formula, select rows of x and y themselves",
             call. = FALSE)
    made <- if (is.data.frame(x)) frame_matrix(x, unique) else list(x = x)
    list(x = made$x, y = y, weights = weights, offset = offset,
         strata = strata,
         intercept = TRUE, frame = made$frame)
}

# New rows of a fit as a matrix.
new_rows <- function(object, newx) {
    if (is.data.frame(newx)) {
        made <- object$frame
        if (is.null(made))
            return(frame_matrix(newx)$x)
        frame <- stats::model.frame(made$terms, newx, xlev = made$levels,
                                    na.action = stats::na.pass)
        return(matrix_of(made$terms, frame, made$contrasts))
    }
    if (is.null(dim(newx)) && is.numeric(newx))
        newx <- matrix(newx, 1)
    newx
}
