"""
Ten bars, mixed and found again
===============================

The classic test of topic models (Griffiths and Steyvers 2004): words are the
pixels of a 5 x 5 image, topics its five rows and five columns, and a document is
a hundred words of a few topics. The sampler receives only the documents, and finds the
bars.
"""
import matplotlib.pyplot as plt
import numpy as np

import strads

draws = np.random.default_rng(0)
bars = np.zeros((10, 5, 5))
for k in range(5):
    bars[k, k, :] = bars[5 + k, :, k] = 0.2
shares = draws.dirichlet([0.2] * 10, 600)
counts = np.stack([draws.multinomial(100, p)
                   for p in shares @ bars.reshape(10, 25)])

said = []
model = strads.LatentDirichletAllocation(
    10, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=600, samples=1,
    random_state=2,
    callbacks=[lambda now: said.append((now.round, now.objective))]).fit(counts)
print(f"perplexity {model.perplexity(counts):.1f}; 25 were no topics, 5 one bar "
      "alone")

# Topics have no order: the rows first, then the columns.
found = model.components_ / model.components_.sum(axis=1, keepdims=True)
match = np.abs(found[:, None] - bars.reshape(10, 25)).sum(axis=2)
order = np.argsort(match.argmin(axis=1), kind="stable")

figure = plt.figure(figsize=(9, 5.5), layout="constrained")
top, middle, bottom = figure.subfigures(3, 1, height_ratios=[1, 1, 1.6])
for part, title, images in (
        (top, "Ten of 600 documents", counts[:10]),
        (middle, "Ten topics that were found", found[order])):
    part.suptitle(title, fontsize=10)
    for ax, image in zip(part.subplots(1, 10), images):
        ax.imshow(image.reshape(5, 5), cmap="Blues")
        ax.set_xticks([])
        ax.set_yticks([])
ax = bottom.subplots()
ax.plot(*np.transpose(said))
ax.set(xlabel="sweep", ylabel="objective",
       title="The chain, as its callbacks saw it")
plt.show()
