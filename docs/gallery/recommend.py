"""
Ratings, filled in
==================

Simulated users rate a third of the films, according to hidden tastes. The
factorisation is fitted to a data frame; held-out ratings show the right number
of factors. A new user's five ratings are folded in without another fit.
"""
import matplotlib.pyplot as plt
import numpy as np
import pandas

import strads

draws = np.random.default_rng(5)
users, films, tastes = 400, 120, 4
likes = draws.normal(0, 0.6, (users, tastes)) @ \
    draws.normal(0, 0.6, (tastes, films)) + draws.normal(0, 0.5, films) + 3
shown = np.clip(likes + draws.normal(0, 0.3, likes.shape), 1, 5)
user, film = np.nonzero(draws.random(shown.shape) < 0.34)
ratings = pandas.DataFrame({
    "user": [f"user {u}" for u in user], "item": [f"film {f}" for f in film],
    "rating": shown[user, film]})
held = draws.random(len(ratings)) < 0.1

errors = {}
for rank in 1, 2, 3, 4, 6, 8, 12:
    model = strads.MatrixFactorization(rank, max_iter=30, random_state=1).fit(
        ratings[~held])
    guess = model.rate(ratings.user[held], ratings.item[held])
    errors[rank] = np.sqrt(np.mean((guess - ratings.rating[held]) ** 2))
best = min(errors, key=errors.get)
print(f"rank {best}: error {errors[best]:.2f} on ratings held out, whose "
      f"deviation is {ratings.rating[held].std():.2f} and whose noise .3")
model = strads.MatrixFactorization(best, max_iter=30, random_state=1).fit(
    ratings[~held])
for name, value in model.recommend("user 7", 3):
    print(f"user 7 may like {name}: {value:.1f}")
mine = pandas.DataFrame({"user": "me", "item": [f"film {f}" for f in range(5)],
                         "rating": [5.0, 4.5, 1.0, 2.0, 4.0]})
bias, factors = model.fold_in(mine)
mine_all = model.mean_ + bias[0] + model.item_bias_ + \
    model.item_factors_ @ factors[0]
print(f"to me: {model.items_[np.argmax(mine_all)]}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(list(errors), list(errors.values()), marker="o")
left.axhline(0.3, color="0.6", linestyle=":", label="noise of the ratings")
left.set(xlabel="rank (factors of a user and a film)",
         ylabel="root mean squared error, held out", ylim=(0, None),
         title="How many tastes there are")
left.legend()
guess = model.rate(ratings.user[held], ratings.item[held])
right.scatter(ratings.rating[held], guess, s=6, alpha=0.5)
right.plot([1, 5], [1, 5], color="0.3", linewidth=0.8)
right.set(xlabel="rating, held out", ylabel="guess", aspect="equal",
          title=f"Guesses of rank {best}")
figure.tight_layout()
plt.show()
