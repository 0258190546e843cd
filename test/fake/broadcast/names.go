package broadcast

import (
	"fmt"
	"strconv"
	"strings"
)

// segmentName returns the name of segment n, relative to its playlist.
func (t *track) segmentName(n int) string { return fmt.Sprintf("seg-%d%s", n, t.extension) }

// partName returns the name of part i of segment n.
func (t *track) partName(n, i int) string { return fmt.Sprintf("seg-%d.%d%s", n, i, t.extension) }

// fileName returns the name of the single file of a connection.
func (t *track) fileName(connection int) string {
	return fmt.Sprintf("media-%d%s", connection, t.extension)
}

// initName returns the name of an init section. Encrypted ones differ by their key.
func initName(connection int, k *key) string {
	if k == nil {
		return fmt.Sprintf("init-%d.mp4", connection)
	}
	return fmt.Sprintf("init-%d.%d.mp4", connection, k.number)
}

// parseName parses KIND-N.EXT and KIND-N.M.EXT. hasM reports the second form.
func parseName(name string) (kind string, n, m int, hasM, ok bool) {
	kind, rest, _ := strings.Cut(name, "-")
	fields := strings.Split(rest, ".")
	if len(fields) != 2 && len(fields) != 3 {
		return kind, 0, 0, false, false
	}
	n, err := strconv.Atoi(fields[0])
	if err == nil && len(fields) == 3 {
		hasM = true
		m, err = strconv.Atoi(fields[1])
	}
	return kind, n, m, hasM, err == nil && n >= 0 && m >= 0
}
