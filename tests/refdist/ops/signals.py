"""`tf.signal` as expressions, in which `t` makes a tensor."""

SIGNAL = "np.sin(np.arange(60, dtype='float64').reshape(2, 30) ** 1.5).astype('float32')"  # numpy's float32 differs by processor
WIDE = "np.sin(np.arange(24, dtype='float64').reshape(2, 3, 4) ** 1.5)"
PAIRS = "(np.arange(24, dtype='float32').reshape(2, 3, 4) % 7 - 1j * (np.arange(24).reshape(2, 3, 4) % 5)).astype('complex64')"

TRANSFORMS = [
    f"tf.signal.{name}(t({PAIRS}))"
    for name in ["fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d"]
]
TRANSFORMS += [f"tf.signal.{name}(t({WIDE}))" for name in ["rfft", "rfft2d", "rfft3d", "fft"]]
TRANSFORMS += [
    f"tf.signal.fft(t({PAIRS}, 'complex128'))",
    f"tf.signal.rfft(t({PAIRS}))",
    "tf.signal.fft2d(t([1j, 2j]))",
]
WINDOWS = [
    f"tf.signal.{name}_window({length})" for name in ["hann", "hamming", "vorbis", "kaiser"] for length in (1, 5, 8)
]
WINDOWS += ["tf.signal.hann_window(8, periodic=False)", "tf.signal.hamming_window(6, dtype=tf.float64)"]
COSINES = [
    f"tf.signal.{name}(t({SIGNAL}), type={kind}, norm={norm!r})"
    for name in ("dct", "idct")
    for kind in (1, 2, 3, 4)
    for norm in (None, "ortho")
]

OTHERS = f"""
tf.signal.rfft(t({SIGNAL}), [16])
tf.signal.rfft(t({SIGNAL}), [40])
tf.signal.rfft2d(t({SIGNAL}), [2, 12])
tf.signal.irfft(t({PAIRS}), [5])
tf.signal.irfft(t({PAIRS}), fft_length=[9])
tf.signal.fftshift(t([1, 2, 3, 4, 5]))
tf.signal.ifftshift(t([[1, 2, 3], [4, 5, 6]]), axes=1)
tf.signal.frame(t([1, 2, 3, 4, 5]), 3, 2)
tf.signal.frame(t([1, 2, 3, 4, 5]), 3, 2, pad_end=True)
tf.signal.frame(t([1, 2, 3, 4, 5]), 3, 2, pad_end=True, pad_value=9)
tf.signal.frame(t([1, 2, 3, 4, 5]), 7, 2)
tf.signal.frame(t([[1, 2], [3, 4], [5, 6], [7, 8]]), 2, 1, axis=0)
tf.signal.frame(t([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 2, 5, True)
tf.signal.overlap_and_add(t([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 2)
tf.signal.overlap_and_add(t([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 1.0, 1.0]]), 1)
tf.signal.overlap_and_add(t([[1.0, 2.0], [4.0, 5.0]]), 3)
tf.signal.stft(t({SIGNAL}), 8, 4)
tf.signal.stft(t({SIGNAL}), 7, 3, pad_end=True)
tf.signal.stft(t({SIGNAL}), frame_length=8, frame_step=4, fft_length=16, window_fn=tf.signal.hamming_window)
tf.signal.stft(t({SIGNAL}), 8, 4, window_fn=None)
tf.signal.inverse_stft(tf.signal.stft(t({SIGNAL}), 8, 4), 8, 4)
tf.signal.inverse_stft(tf.signal.stft(t({SIGNAL}), 8, 4), 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4))
tf.signal.inverse_stft(tf.signal.stft(t({SIGNAL}), 7, 3), 7, 3, None, tf.signal.inverse_stft_window_fn(3))
tf.signal.linear_to_mel_weight_matrix(5, 17, dtype=tf.float64)
tf.signal.linear_to_mel_weight_matrix(20, 129, 16000, 80.0, 7600.0, dtype=tf.float64)
tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)
tf.signal.linear_to_mel_weight_matrix(0)
tf.shape(tf.signal.linear_to_mel_weight_matrix())
tf.signal.mfccs_from_log_mel_spectrograms(t({SIGNAL}))
tf.signal.dct(t({SIGNAL}), n=10)
tf.signal.dct(t({SIGNAL}), n=33)
tf.signal.dct(t([1, 2, 3]))
tf.signal.dct(t([1.0, 2.0]), type=5)
"""
EXPRESSIONS = [*TRANSFORMS, *WINDOWS, *COSINES, *OTHERS.strip().splitlines()]
