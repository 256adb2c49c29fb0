# Arguments of a fit: their checks, and the data as .Call takes them.

refuse <- function(name, value, expected)
    stop(name, " is ", paste(deparse(value, nlines = 1), collapse = ""),
         ": expected ", expected, call. = FALSE)

# The value of a call of the library. Its errors name options of the command,
# and columns by their numbers: R's have no options, and `names` of columns.
in_words_of_r <- function(value, names = NULL)
    tryCatch(value, error = function(e) {
        text <- conditionMessage(e)
        text <- sub(", or take shorter steps.*", "", text)
        text <- gsub(",? *(or )?(allow more )?\\(--[^)]*\\)", "", text)
        text <- gsub("--values ([a-z0-9]+)", "values = \"\\1\"", text)
        at <- regmatches(text, regexec("^column ([0-9]+) ", text))[[1]]
        if (!is.null(names) && length(at))
            text <- sub(at[1], paste0("column ", names[as.integer(at[2])], " "),
                        text, fixed = TRUE)
        stop(text, call. = FALSE)
    })

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
                             intercept, thresh, threads, devmax, fdev, dfmax) {
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
    share <- "a number from 0 to 1, 0 for no early end"
    number("devmax", devmax, share, function(v) v >= 0 && v <= 1)
    number("fdev", fdev, share, function(v) v >= 0 && v <= 1)
    if (!is.null(dfmax))
        number("dfmax", dfmax, "a whole number from 1 up", function(v) v >= 1,
               TRUE)
}

families <- c("gaussian", "binomial", "poisson", "multinomial", "gamma",
              "tweedie", "quantile", "cox", "mgaussian")

# Stops if an argument of one family is given for another.
only_for <- function(name, given, family, of)
    if (given && family != of)
        stop(name, ": family \"", family, "\" has none, expected family \"",
             of, "\"", call. = FALSE)

# The name of a family: a string, or one of R's family objects or functions.
family_name <- function(family) {
    if (is.function(family))
        family <- family()
    if (inherits(family, "family")) {
        usual <- c(gaussian = "identity", binomial = "logit", poisson = "log",
                   Gamma = "log")
        if (!isTRUE(usual[family$family] == family$link))
            stop("family is ", family$family, " with link ", family$link,
                 ": expected one of ",
                 paste0(names(usual), "(\"", usual, "\")", collapse = ", "),
                 call. = FALSE)
        family <- family$family
    }
    name <- if (is.character(family) && length(family) == 1) tolower(family)
            else NA
    if (is.na(name) || !(name %in% families))
        refuse("family", family, paste0("\"", families, "\"", collapse = ", "))
    name
}

# Arguments of glmnet that have no effect here.
check_dots <- function(family, ...) {
    given <- names(list(...))
    idle <- c("maxit", "type.gaussian", "type.logistic", "trace.it", "pmax",
              "standardize.response", "parallel", "alignment")
    if (is.null(given) && ...length())
        stop("an argument without a name is too many", call. = FALSE)
    wrong <- setdiff(given, c(idle, "type.multinomial"))
    if (length(wrong))
        stop("there is no argument ", paste(wrong, collapse = ", "),
             call. = FALSE)
    if ("type.multinomial" %in% given &&
        !identical(list(...)$type.multinomial, "ungrouped"))
        stop("type.multinomial: expected \"ungrouped\", a penalty for each ",
             "class", call. = FALSE)
    if (family == "mgaussian" &&
        !isFALSE(c(list(...)$standardize.response, FALSE)[1]))
        stop("standardize.response: expected FALSE, divide the columns of y ",
             "by their deviations", call. = FALSE)
    if (family == "mgaussian")
        idle <- setdiff(idle, "standardize.response")
    if (any(given %in% idle))
        warning("no effect here: ", paste(intersect(given, idle),
                                          collapse = ", "), call. = FALSE)
}

entries <- function(x) if (is.matrix(x)) x else x@x

# x as a matrix of doubles, or a dgCMatrix.
numeric_matrix <- function(x) {
    if (!(is.matrix(x) && (is.numeric(x) || is.logical(x))) &&
        !is(x, "Matrix"))
        stop("x is a ", class(x)[1], ": expected a numeric matrix, one of ",
             "package Matrix, a data.frame or a formula", call. = FALSE)
    if (!is.matrix(x))
        x <- as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
    else if (!is.double(x))
        storage.mode(x) <- "double"
    x
}

# The classes of y: its levels in use.
class_levels <- function(y, family, weighted) {
    y <- factor(y)
    n <- nlevels(y)
    rows <- if (weighted) " in rows whose weight is not 0"
    if (family == "binomial" && n != 2)
        stop("family \"binomial\" takes two classes; y has ", n, rows,
             if (n > 2) "; for more use family \"multinomial\"", call. = FALSE)
    if (family == "multinomial" && n < 3)
        stop("family \"multinomial\" takes three classes or more; y has ", n,
             rows, if (n == 2) "; for two use family \"binomial\"",
             call. = FALSE)
    y
}

check_numbers <- function(y, family) {
    if (any(!(abs(y) < 1e140)))
        stop("y has a value of ", format(max(abs(y))), ": expected numbers ",
             "below 1e140, scale y down", call. = FALSE)
    least <- min(y)
    if (family %in% c("poisson", "tweedie") && least < 0 ||
        family == "gamma" && least <= 0)
        stop("y has a value of ", format(least), ": family \"", family,
             "\" takes numbers ", if (family == "gamma") "above 0"
             else "from 0 up", call. = FALSE)
}

# A path has no first penalty if y is what the null model predicts.
check_constant <- function(d, family, intercept) {
    if (family == "cox" || !is.null(d$classes))
        return()
    y <- as.matrix(d$y)
    if (!is.null(d$offset)) {
        if (family != "gaussian")
            return()
        y <- y - d$offset
    }
    first <- if (intercept) y[1, ] else 0
    if (all(y == rep(first, each = nrow(y))))
        stop("y is constant", if (!is.null(d$offset)) " beside its offset",
             if (!intercept) " at 0",
             ": there is nothing to explain, expected values that differ",
             call. = FALSE)
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

row_offset <- function(offset, n, family) {
    if (is.null(offset))
        return(NULL)
    if (family %in% c("multinomial", "mgaussian"))
        stop("offset: family \"", family, "\" takes none",
             if (family == "mgaussian") "; subtract it from y", call. = FALSE)
    if (!is.numeric(offset) || length(offset) != n ||
        any(!is.finite(offset)))
        stop("offset: expected ", n, " finite numbers", call. = FALSE)
    as.double(offset)
}

# y as one number for each row, or a vector of what becomes classes.
single_response <- function(y, family) {
    y <- drop(y)
    if (is.matrix(y) || is.data.frame(y))
        stop("y has ", ncol(y), " columns: expected one; of counts of two ",
             "classes make a row each, with weights; for several numbers use ",
             "family \"mgaussian\", for times until an event \"cox\"",
             call. = FALSE)
    y
}

# Rows with positive weight: x as a matrix of doubles or a dgCMatrix, y as
# numbers (of "mgaussian" a matrix), their weights (NULL: all 1) and strata, and
# the names of the classes and columns.
design <- function(x, y, family, weights, offset = NULL, strata = NULL) {
    x <- numeric_matrix(x)
    if (nrow(x) == 0 || ncol(x) == 0)
        stop("x has ", nrow(x), " rows and ", ncol(x), " columns: expected one ",
             "of each at least", call. = FALSE)
    if (family == "cox" && is.null(strata))
        strata <- attr(y, "strata") # as of glmnet's stratifySurv()
    y <- switch(family, cox = event_times(y), mgaussian = response_matrix(y),
                single_response(y, family))
    if (NROW(y) != nrow(x))
        stop("y has ", NROW(y), " values and x ", nrow(x),
             " rows: expected one for each", call. = FALSE)
    stratum <- row_strata(strata, nrow(x))
    classes <- family %in% c("binomial", "multinomial")
    if (!classes && !is.numeric(y) && !is.logical(y)) {
        n <- length(unique(y))
        stop("y is a ", class(y)[1], ": family \"", family, "\" takes numbers; ",
             "for its ", n, " classes use family \"",
             if (n > 2) "multinomial" else "binomial", "\"", call. = FALSE)
    }
    if (anyNA(y) || anyNA(entries(x)))
        stop("x or y has missing values", call. = FALSE)
    if (length(entries(x)) > 0 && any(!is.finite(range(entries(x)))))
        stop("x has infinite values: expected finite ones", call. = FALSE)
    weights <- row_weights(weights, nrow(x))
    offset <- row_offset(offset, nrow(x), family)
    kept <- NULL
    if (!is.null(weights) && any(weights == 0)) {
        kept <- which(weights > 0)
        x <- x[kept, , drop = FALSE]
        y <- rows_of(y, kept)
        weights <- weights[kept]
        offset <- offset[kept]
        stratum <- stratum[kept]
    }
    named <- NULL
    if (classes) {
        y <- class_levels(y, family, !is.null(weights))
        named <- levels(y)
        y <- as.integer(y) - 1
    }
    storage.mode(y) <- "double"
    check_numbers(y, family)
    list(x = x, y = y, classes = named, weights = weights, offset = offset,
         kept = kept, stratum = stratum,
         strata = levels(factor(strata)),
         names = if (is.null(colnames(x))) paste0("V", seq_len(ncol(x)))
                 else colnames(x))
}

# Sums by which data are known again: of x, y, weights, offset and stratum, each
# multiplied by a number of its row and column, and of their sizes.
data_sums <- function(d) {
    by_place <- function(v) as.double(v) * sin(seq_along(v))
    x <- drop(as.matrix(crossprod(d$x, sin(seq_len(nrow(d$x))))))
    parts <- lapply(list(x, d$y, d$weights, d$offset, d$stratum), by_place)
    list(dim = dim(d$x), sum = vapply(parts, sum, 0),
         size = vapply(parts, function(v) sum(abs(v)), 0))
}

# Whether two data are the same, also in x; matrices and sparse ones round
# differently.
same_data <- function(a, b, x) {
    k <- if (x) seq_along(a$sum) else seq_along(a$sum)[-1]
    a$dim[1] == b$dim[1] && (!x || a$dim[2] == b$dim[2]) &&
        all(abs(a$sum - b$sum)[k] <= 1e-11 * a$size[k])
}

# Rows of y, a vector or a matrix.
rows_of <- function(y, at) if (is.matrix(y)) y[at, , drop = FALSE] else y[at]

# The data as .Call takes them.
handed_over <- function(d)
    list(start = if (!is.matrix(d$x)) d$x@p, index = if (!is.matrix(d$x)) d$x@i,
         value = entries(d$x), dim = dim(d$x), y = d$y, weights = d$weights,
         offset = d$offset, stratum = d$stratum)

# One bound for all coefficients, by glmnet's name for it.
bound <- function(name, value, p) {
    if (!is.numeric(value) || anyNA(value) || !(length(value) %in% c(1, p)))
        refuse(name, value, "a number, or one for each column")
    if (any(if (name == "lower.limits") value > 0 else value < 0))
        refuse(name, value, if (name == "lower.limits") "numbers up to 0"
                            else "numbers from 0 up")
    if (any(value != value[1]))
        stop(name, ": the limits of columns differ: expected one for all",
             call. = FALSE)
    value <- as.double(value[1])
    if (is.finite(value)) value else sign(value) * .Machine$double.xmax
}

is_finite_limit <- function(value) abs(value) < .Machine$double.xmax

# Penalty factors with a sum of p, as glmnet has them, and the columns that are
# in the fit.
factors <- function(penalty.factor, exclude, p) {
    if (is.null(penalty.factor))
        penalty.factor <- rep(1, p)
    if (!is.numeric(penalty.factor) || length(penalty.factor) != p ||
        anyNA(penalty.factor) || any(penalty.factor < 0))
        stop("penalty.factor: expected ", p, " numbers from 0 up, Inf for a ",
             "column that is left out", call. = FALSE)
    if (!is.null(exclude) &&
        (!is.numeric(exclude) || !all(exclude %in% seq_len(p))))
        stop("exclude: expected numbers of columns, from 1 to ", p,
             call. = FALSE)
    out <- union(exclude, which(penalty.factor == Inf))
    kept <- setdiff(seq_len(p), out)
    if (length(kept) == 0)
        stop("exclude: no column is left", call. = FALSE)
    penalty.factor[out] <- 1
    if (all(penalty.factor == 0))
        stop("penalty.factor: all are 0, and nothing is penalised; use ",
             "lambda = 0", call. = FALSE)
    v <- penalty.factor * (p / sum(penalty.factor))
    list(kept = kept, factor = if (any(v != 1)) as.double(v[kept]))
}

# Weighted standard deviations of the columns; 1 for constant ones.
deviations <- function(x, weights) {
    w <- if (is.null(weights)) rep(1 / nrow(x), nrow(x))
         else weights / sum(weights)
    centre <- drop(as.matrix(crossprod(x, w)))
    s <- if (is.matrix(x)) sqrt(colSums(w * sweep(x, 2, centre)^2))
         else sqrt(pmax(drop(as.matrix(crossprod(x^2, w))) - centre^2, 0))
    ifelse(s > 1e-9 * abs(centre), s, 1)
}
