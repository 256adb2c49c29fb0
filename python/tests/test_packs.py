"""strads.pack and strads.open_pack: what is packed reads back, from every form
of matrix and from files; bad input leaves no file."""
import numpy as np
import pytest
import scipy.sparse as sparse

import strads


def _matrix(kind, rows=300, cols=70):
    random = np.random.default_rng(rows + cols)
    X = sparse.random(rows, cols, 0.1, "csc", random_state=3)
    if kind == "ones":
        X.data[:] = 1
    elif kind == "bytes":
        X.data = random.integers(1, 256, X.nnz).astype(float) / 8
    elif kind == "f32":
        X.data = X.data.astype(np.float32).astype(float)
    return X


@pytest.mark.parametrize("kind", ["ones", "bytes", "f32", "f64"])
@pytest.mark.parametrize("form", ["csc", "csr", "coo", "numpy", "frame",
                                  "sparse frame"])
def test_matrix_reads_back(tmp_path, kind, form):
    X = _matrix(kind)
    y = np.linspace(-1, 1, X.shape[0])
    given = X.asformat(form) if form in ("csc", "csr", "coo") else X.toarray()
    if "frame" in form:
        pandas = pytest.importorskip("pandas")
        given = (pandas.DataFrame.sparse.from_spmatrix(X)
                 if "sparse" in form else pandas.DataFrame(given))
        given.columns = [f"x{j}" for j in range(X.shape[1])]
    pack = strads.pack(given, tmp_path / "x.pack", y)
    assert pack.shape == X.shape and pack.nnz == X.nnz
    assert (pack.tocsc() != X).nnz == 0
    np.testing.assert_array_equal(pack.y, y)
    assert pack.classes is None and pack.sample_weight is None
    assert (pack.feature_names == list(given.columns) if "frame" in form
            else pack.feature_names is None)


def test_ranges_of_columns_and_moments(tmp_path):
    X = _matrix("f64")
    pack = strads.pack(X, tmp_path / "x.pack")
    assert pack.y is None
    for begin, end in ((0, 0), (3, 9), (-5, None), (69, 70), (5, 2)):
        assert (pack.tocsc(begin, end) != X[:, begin:max(
            begin, end) if end is not None and begin >= 0 else end]).nnz == 0
    total, centred = pack.moments(10, 40)
    dense = X.toarray()[:, 10:40]
    np.testing.assert_allclose(total, dense.sum(0), rtol=1e-12)
    np.testing.assert_allclose(
        centred, ((dense - dense.mean(0)) ** 2).sum(0), rtol=1e-12)


def test_names_weights_and_rounding(tmp_path):
    X = _matrix("f64")
    y = np.array(["owl", "ape", "fox"])[np.arange(X.shape[0]) % 3]
    weight = np.arange(X.shape[0]) / 7
    names = [f"word {j}" for j in range(X.shape[1])]
    pack = strads.pack(X, tmp_path / "x.pack", y, values="f16",
                       sample_weight=weight, feature_names=names)
    assert pack.values == "f16" and pack.feature_names == names
    assert list(np.array(pack.classes)[pack.y.astype(int)]) == list(y)
    np.testing.assert_array_equal(pack.sample_weight, weight)
    np.testing.assert_array_equal(pack.tocsc().data,
                                  X.data.astype(np.float16).astype(float))


def test_files(tmp_path):
    X = _matrix("f64").tocsr()
    y = np.arange(X.shape[0]) / 4
    sparse.save_npz(tmp_path / "x.npz", X)
    np.save(tmp_path / "y.npy", y)
    pack = strads.pack(tmp_path / "x.npz", tmp_path / "x.pack",
                       tmp_path / "y.npy")
    assert (pack.tocsc() != X).nnz == 0
    np.testing.assert_array_equal(pack.y, y)
    twice = strads.pack([pack.path, pack.path], tmp_path / "twice.pack")
    assert (twice.tocsc() != sparse.vstack([X, X])).nnz == 0
    np.testing.assert_array_equal(twice.y, np.concatenate([y, y]))


@pytest.mark.parametrize("given, says", [
    ({"y": np.zeros(3)}, "y has the shape"),
    ({"values": "f8"}, "expected exact, f16 or f32"),
    ({"sample_weight": -np.ones(300)}, "weight"),
    ({"feature_names": ["a"] * 70}, "twice"),
    ({"feature_names": ["a"]}, "feature_names"),
    ({"X": np.full((300, 70), np.nan)}, "finite"),
    ({"X": np.full((300, 70), 1e5) + np.arange(70), "values": "f16"}, None),
    ({"X": np.arange(300 * 70).reshape(300, 70) * 1e5, "values": "f16"},
     "f16")])
def test_bad_input_leaves_no_file(tmp_path, given, says):
    path = tmp_path / "x.pack"
    given = {"X": _matrix("f64"), **given}
    if says is None:  # few different values: exact at any magnitude
        assert strads.pack(path=path, **given).values == "f16"
        return
    with pytest.raises((ValueError, strads.StradsError), match=says):
        strads.pack(path=path, **given)
    assert not list(tmp_path.iterdir())


def test_damage_names_the_chunk(tmp_path):
    path = tmp_path / "x.pack"
    strads.pack(_matrix("f64"), path)
    bytes_ = bytearray(path.read_bytes())
    bytes_[4096 + 100] ^= 1
    path.write_bytes(bytes_)
    with pytest.raises((ValueError, strads.StradsError), match="chunk 0 of 1"):
        strads.open_pack(path).tocsc()
    path.write_bytes(bytes_[:-1])
    with pytest.raises((ValueError, strads.StradsError), match="cut short"):
        strads.open_pack(path)


def test_fits_refuse_a_pack_and_name_the_command(tmp_path):
    path = tmp_path / "x.pack"
    pack = strads.pack(np.eye(4), path, np.arange(4.0))
    for fit in (lambda: strads.Lasso().fit(pack, pack.y),
                lambda: strads.lasso_path(pack, pack.y),
                lambda: strads.LogisticRegression().fit(pack, pack.y),
                lambda: strads.MatrixFactorization(1).fit(pack)):
        with pytest.raises(ValueError, match=f"strads lasso train {path}"
                           ".*read_model"):
            fit()
