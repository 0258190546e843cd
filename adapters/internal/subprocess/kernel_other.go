//go:build unix && !linux

package subprocess

// CheckLauncher returns nil: only Linux needs tool-launcher.
func CheckLauncher() error { return nil }

// Landlock returns 0: only Linux has Landlock.
func Landlock() int { return 0 }

// Missing says that tools are confined on Linux only.
func Missing() []string {
	return []string{"Linux: tools have no limits, and read and write what this user may, keys.json included"}
}
