package broadcast

import (
	"fmt"
	"strconv"
	"strings"
)

// segmentName is the name of segment n, beside its playlist.
func (t *track) segmentName(n int) string { return fmt.Sprintf("seg-%d%s", n, t.extension) }

// partName is the name of a part of segment n.
func (t *track) partName(n, i int) string { return fmt.Sprintf("seg-%d.%d%s", n, i, t.extension) }

// fileName is the name of all segments in one.
func (t *track) fileName(chapter int) string { return fmt.Sprintf("media-%d%s", chapter, t.extension) }

// initName is the name of an initialisation section: encrypted ones differ by
// their key.
func initName(chapter int, k *key) string {
	if k == nil {
		return fmt.Sprintf("init-%d.mp4", chapter)
	}
	return fmt.Sprintf("init-%d.%d.mp4", chapter, k.number)
}

// numbers reads one or two numbers from a name: KIND-N.EXT, KIND-N.M.EXT.
func numbers(name string) (kind string, n, m int, two, ok bool) {
	kind, rest, _ := strings.Cut(name, "-")
	fields := strings.Split(rest, ".")
	if len(fields) != 2 && len(fields) != 3 {
		return kind, 0, 0, false, false
	}
	n, err := strconv.Atoi(fields[0])
	if err == nil && len(fields) == 3 {
		two = true
		m, err = strconv.Atoi(fields[1])
	}
	return kind, n, m, two, err == nil && n >= 0 && m >= 0
}
