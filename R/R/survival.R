# Times until an event: their form, strata, the concordance, survival curves.

# y of family "cox" as the library's labels: the time t of an event, or -t of a
# row that was seen up to t without one.
event_times <- function(y) {
    if (inherits(y, "Surv") && attr(y, "type") != "right")
        stop("y is a Surv object of type ", attr(y, "type"),
             ": expected times that are censored on the right, ",
             "Surv(time, status)", call. = FALSE)
    if (inherits(y, "Surv") || is.data.frame(y))
        y <- as.matrix(y)
    if (!is.matrix(y) || !all(c("time", "status") %in% colnames(y)))
        stop("y: family \"cox\" takes Surv(time, status) or a matrix with ",
             "columns time and status", call. = FALSE)
    time <- as.double(y[, "time"])
    status <- as.double(y[, "status"])
    if (anyNA(time) || anyNA(status))
        stop("y has missing values", call. = FALSE)
    if (any(!(status %in% 0:1)))
        stop("y has the status ", format(status[!(status %in% 0:1)][1]),
             ": expected 1 for an event and 0 for none", call. = FALSE)
    if (any(time < 0))
        stop("y has the time ", format(min(time)), ": expected numbers from 0 ",
             "up", call. = FALSE)
    ifelse(status == 1, time, -time)
}

# Whether labels are those of events; -0 is a time without one.
has_event <- function(label) label > 0 | 1 / label > 0

# Labels as strads() takes them.
time_matrix <- function(label)
    cbind(time = abs(label), status = as.double(has_event(label)))

# Numbers of strata from 0 up, one for each row.
row_strata <- function(strata, n) {
    if (is.null(strata))
        return(NULL)
    if (length(strata) != n || anyNA(strata))
        stop("strata: expected the stratum of each of the ", n, " rows",
             call. = FALSE)
    as.integer(factor(strata)) - 1L
}

# Harrell's C of each column of margins z: the share of comparable pairs, by
# weight, in which the row with the earlier event has the larger margin; equal
# margins count half. Rows are comparable within a stratum.
concordance_of <- function(label, z, w, stratum) {
    time <- abs(label)
    event <- has_event(label)
    if (is.null(stratum))
        stratum <- rep(0L, length(label))
    right <- rep(0, ncol(z))
    all <- 0
    for (i in which(event)) {
        later <- which(stratum == stratum[i] &
                       (time > time[i] | time == time[i] & !event))
        if (length(later) == 0)
            next
        gap <- rep(z[i, ], each = length(later)) - z[later, , drop = FALSE]
        right <- right + w[i] * colSums(w[later] * ((gap > 0) + (gap == 0) / 2))
        all <- all + w[i] * sum(w[later])
    }
    if (all == 0)
        stop("type.measure \"C\": a fold has no two rows that can be compared; ",
             "use fewer folds", call. = FALSE)
    right / all
}

# The cumulative hazard of rows at margin 0: steps at the times of events, of
# Breslow's or Efron's estimate.
hazard_steps <- function(label, z, w, efron) {
    time <- abs(label)
    event <- has_event(label)
    top <- max(z)
    risk <- w * exp(z - top)
    at <- sort(unique(time[event]))
    steps <- vapply(at, function(t) {
        now <- event & time == t
        share <- if (efron) (seq_len(sum(now)) - 1) / sum(now) else 0
        mean(sum(w[now]) / (sum(risk[time >= t]) - share * sum(risk[now])))
    }, 0)
    list(time = at, hazard = cumsum(steps) * exp(-top))
}

# Survival probabilities [rows x times] at margins z[rows x 1]. The hazard is
# that of the rows of the fit, which the object has.
survival_of <- function(object, z, b, times, newstrata) {
    d <- object$data
    if (!is.numeric(times) || length(times) == 0 || anyNA(times))
        stop("times: expected numbers, the times of the probabilities",
             call. = FALSE)
    if (ncol(z) != 1)
        stop("type \"survival\" is of one penalty: expected one number as s",
             call. = FALSE)
    own <- as.vector(as.matrix(d$x %*% b[-1, , drop = FALSE])) +
        (if (is.null(d$offset)) 0 else d$offset)
    w <- if (is.null(d$weights)) rep(1, nrow(d$x)) else d$weights
    of <- if (is.null(d$stratum)) rep(1L, nrow(d$x)) else d$stratum + 1L
    if (is.null(d$stratum) != is.null(newstrata))
        stop("newstrata: expected the stratum of each row of newx if the fit ",
             "has strata, and none otherwise", call. = FALSE)
    new <- if (is.null(newstrata)) rep(1L, nrow(z))
           else match(as.character(newstrata), d$strata)
    if (length(new) != nrow(z) || anyNA(new))
        stop("newstrata: expected one of the fit's strata for each row of ",
             "newx", call. = FALSE)
    out <- matrix(NA_real_, nrow(z), length(times),
                  dimnames = list(rownames(z), format(times, trim = TRUE)))
    for (k in unique(new)) {
        rows <- of == k
        steps <- hazard_steps(d$y[rows], own[rows], w[rows],
                              object$loss == "cox-efron")
        h <- c(0, steps$hazard)[findInterval(times, steps$time) + 1]
        out[new == k, ] <- exp(-outer(exp(z[new == k, 1]), h))
    }
    out
}
