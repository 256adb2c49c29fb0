# Packs.

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
    d$weights <- weights
    made <- in_words_of_r(.Call(
        C_pack, handed_over(d),
        list(file = path.expand(file),
             values = match(values, c("exact", "f16", "f32")) - 1)))
    if (made$interrupted)
        interrupt(NULL)
    invisible(made[c("rows", "columns", "entries", "bytes")])
}
