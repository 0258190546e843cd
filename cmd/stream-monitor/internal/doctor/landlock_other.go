//go:build !linux

package doctor

// LandlockVersion returns 0: only Linux has Landlock.
func LandlockVersion() int { return 0 }
