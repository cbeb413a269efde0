"""Files and what is in them: examples, tensors, images, events, and the file system itself."""
