"""Options that mf train chooses against a grid, on random ratings; fleet-mf.sh
calls this.

Ratings I of seed S are the same however many are drawn. Each set is split into nine
tenths for training and one for the test. The errors on the test are those of mf train
without options, of the best of 24 fits with given options, and of the best of 25
dampings of biases alone: both best ones are chosen by the test itself. The last set is
the sample of votes in data/."""
import argparse
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

import with_models as m

GRID = tuple(itertools.product((16, 64, 128), (.025, .05, .1, .2), (.04, .08)))
DAMPING = (1, 2.5, 5, 10, 25)
VOTES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     "data", "unvotes-tiny.txt")
ABOVE_GRID, ABOVE_BIASES, SHARE = 1.01, 1.002, .95


def between(rng, low, high):
    """Uniform in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw(seed, number, most):
    """User, item and rating of each pair."""
    rng = np.random.default_rng([seed, number])
    users, items = (round(between(rng, 100, 20000)) for _ in range(2))
    n = round(min(between(rng, 5000, most), .3 * users * items))
    skew, active = rng.uniform(0, 1), rng.uniform(.2, 1.2)
    popular = rng.permutation((np.arange(items) + 5.0) ** -skew)
    user = np.exp(rng.normal(0, active, users))
    pair = np.unique(rng.choice(users, 2 * n, p=user / user.sum()) * items +
                     rng.choice(items, 2 * n, p=popular / popular.sum()))
    pair = rng.permutation(pair)[:n]
    u, i = pair // items, pair % items
    rank = int(rng.choice([0, 1, 2, 4, 8, 16, 40]))
    scale = (np.arange(rank) + 1.0) ** -rng.uniform(0, 1)
    p, q = rng.normal(size=(users, rank)), rng.normal(size=(items, rank))
    if rank:
        p *= scale * rng.uniform(.1, 1.2) / np.sqrt((scale ** 2).sum())
    rating = rng.uniform(.1, .7) * rng.normal(size=users)[u] + \
        rng.uniform(.1, .7) * rng.normal(size=items)[i] + \
        (p[u] * q[i]).sum(1) + rng.uniform(.2, 1.2) * rng.normal(size=len(u))
    form = rng.random()
    if form < .5:
        rating = np.clip(np.round(3.5 + rating), 1, 5)  # stars
    elif form < .6:
        rating = np.exp(rating)                         # hours
    return u, i, rating, rng.random(len(u)) < .1


def votes():
    u, i, rating = np.loadtxt(VOTES).T
    return u.astype(int), i.astype(int), rating, np.arange(len(u)) % 10 == 3


def write(place, ratings):
    u, i, rating, test = ratings
    paths = [os.path.join(place, x) for x in ("train.txt", "test.txt")]
    for path, part in zip(paths, (~test, test)):
        np.savetxt(path, np.column_stack([u, i, rating])[part],
                   fmt="%d %d %.6g")
    return paths


def strads_error(place, paths, *options):
    """The test error of the result."""
    words = [m.STRADS, "mf", "train", paths[0], "--test", paths[1], "--workers",
             "2", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stderr.rsplit("test ", 1)[1].split(",")[0]), \
        next((line for line in done.stderr.splitlines() if "chosen" in line),
             "")


def biases_error(ratings, user, item):
    u, i, rating, test = ratings
    r, mean = rating[~test], rating[~test].mean()
    users, items = u.max() + 1, i.max() + 1
    a, b = u[~test], i[~test]
    ours, theirs = np.zeros(users), np.zeros(items)
    for _ in range(10):
        theirs = np.bincount(b, r - mean - ours[a], items) / \
            (np.bincount(b, minlength=items) + item)
        ours = np.bincount(a, r - mean - theirs[b], users) / \
            (np.bincount(a, minlength=users) + user)
    guess = np.clip(mean + ours[u] + theirs[i], r.min(), r.max())[test]
    return float(np.sqrt(np.mean((guess - rating[test]) ** 2)))


def measure(place, name, ratings):
    paths = write(place, ratings)
    ours, chosen = strads_error(place, paths)
    grid = min(strads_error(place, paths, "--rank", str(k), "--lambda", str(x),
                            "--step", str(s), "--tune", "0")[0]
               for k, x, s in GRID)
    biases = min(biases_error(ratings, *d)
                 for d in itertools.product(DAMPING, DAMPING))
    good = ours <= ABOVE_GRID * grid and ours <= ABOVE_BIASES * biases
    words = chosen.split("chosen: ")[-1].split(", for")[0]
    print("%-8s %6d x %6d %8d %9.5f %9.5f %9.5f %7.4f %7.4f %s %s"
          % (name, ratings[0].max() + 1, ratings[1].max() + 1, len(ratings[0]),
             ours, grid, biases, ours / grid, ours / biases,
             "    " if good else "MISS", words), flush=True)
    m.record("fleet_mf", set=name, ours=ours, grid=grid, biases=biases)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--most", type=float, default=4e5,
                        help="ratings of a set at most")
    options = parser.parse_args()
    print("%-8s %15s %8s %9s %9s %9s %7s %7s" % (
        "set", "users x items", "ratings", "default", "grid", "biases",
        "/ grid", "/biases"))
    with tempfile.TemporaryDirectory() as place:
        good = [measure(place, "%d.%d" % (options.seed, k),
                        draw(options.seed, k, options.most))
                for k in range(options.sets)]
        good.append(measure(place, "votes", votes()))
    print("%d of %d sets are within %g of the grid and %g of the biases"
          % (sum(good), len(good), ABOVE_GRID, ABOVE_BIASES))
    return 0 if sum(good) >= SHARE * len(good) else 1


if __name__ == "__main__":
    sys.exit(main())
