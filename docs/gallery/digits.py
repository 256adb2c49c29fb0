"""
Digits by softmax, and what each class looks at
===============================================

A classifier of ten classes with an L1 penalty, in a pipeline and a grid search
of scikit-learn, like its own estimators. Each digit's coefficients, arranged as
the 8 x 8 pixels that they multiply, show where ink is evidence for the digit
(blue) and where against it (red).
"""
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import strads

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)

search = GridSearchCV(
    make_pipeline(MaxAbsScaler(), strads.LogisticRegression("l1", tol=1e-2)),
    {"logisticregression__C": [0.3, 3.0]}, cv=3).fit(train, y_train)
model = search.best_estimator_[-1]
print(f"C = {model.C:g}: {search.score(test, y_test):.1%} of the test set, "
      f"{np.mean(model.coef_ != 0):.0%} of the coefficients are not 0")

figure, axes = plt.subplots(2, 5, figsize=(9, 4.2), layout="constrained")
most = np.abs(model.coef_).max()
for digit, ax in enumerate(axes.flat):
    image = ax.imshow(model.coef_[digit].reshape(8, 8), cmap="RdBu",
                      vmin=-most, vmax=most)
    ax.set_title(f"{digit}")
    ax.set_xticks([])
    ax.set_yticks([])
figure.colorbar(image, ax=axes, shrink=0.8).ax.set_title(
    "coefficient", fontsize=9)
figure.suptitle("Coefficients of each digit, by pixel")
plt.show()
