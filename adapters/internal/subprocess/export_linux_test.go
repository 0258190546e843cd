package subprocess

// WithLandlock makes the kernel one with an older Landlock until restore.
func WithLandlock(version int) (restore func()) {
	before := kernel
	kernel = func() (kernelMeans, error) {
		means, err := before()
		means.landlock = version
		return means, err
	}
	return func() { kernel = before }
}
