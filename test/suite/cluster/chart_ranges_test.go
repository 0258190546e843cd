//go:build cluster

package cluster_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ranged is a setting with a range, in the program's table: from, to, name.
var ranged = regexp.MustCompile(`type:"(?:whole|span)" min:"(\w+)" max:"(\w+)" env:"(\w+)"`)

// TestTheChartHoldsSettingsToTheProgramsRanges: a gateway that has a setting beyond
// them ends at its start, again and again.
func TestTheChartHoldsSettingsToTheProgramsRanges(t *testing.T) {
	table, err := os.ReadFile("../../../cmd/stream-monitor/internal/config/commands.go")
	must(t, err)
	bounds := map[string][]string{}
	for _, setting := range ranged.FindAllStringSubmatch(string(table), -1) {
		bounds[setting[3]] = setting[1:3]
	}
	for name, c := range map[string]struct{ within, beyond []string }{
		"MAX_MONITORS":              {[]string{"", "50", "9999"}, []string{"0", "10001", "20000", "5.5"}},
		"RATE_LIMIT_CREATE_PER_MIN": {[]string{"", "10", "59999999"}, []string{"-1", "60000001", "100000000"}},
		"RATE_LIMIT_QUERY_PER_MIN":  {[]string{"", "100", "9999999"}, []string{"-1", "60000001", "100000000"}},
		"SCHEDULE_LEAD_TIME": {
			[]string{"", "0", "600", "86400", "86400s", "1439m59s", "1440m", "1h30m", "23h59m59s", "24h"},
			[]string{"-1s", "86401", "86401s", "1441m", "24h1s", "25h", "2d"},
		},
		"GATEWAY_RECONCILE_TIMEOUT": {
			[]string{"", "1", "30", "599s", "600", "600s", "1m30s", "9m59s"},
			[]string{"0", "0s", "601", "601s", "10m1s", "11m", "1h", "1d"},
		},
		"EVENT_RETENTION": {
			[]string{"", "3600", "3153600000", "3600s", "3153600000s", "60m", "52560000m", "36h30m", "875999h59m59s", "876000h", "1d", "90d"},
			[]string{"0d", "3599", "59m", "3153600001", "52560001m", "876000h1s", "876001h", "36501d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if bounds[name] == nil {
				t.Fatal("the program has no such range")
			}
			with := func(way, value string) error {
				_, err := run(t.Context(), "helm", "template", release, chart, "--kube-version", "v1.34.0", "--set", dsn, "--set", tag, way, "settings."+name+"="+value)
				return err
			}
			for _, value := range append(c.within, bounds[name]...) {
				for _, way := range ways(value) {
					if err := with(way, value); err != nil {
						t.Errorf("%s: %v", way, err)
					}
				}
			}
			for _, value := range c.beyond {
				for _, way := range ways(value) {
					err := with(way, value)
					if refusal, ok := errors.AsType[*failure](err); !ok || !strings.Contains(refusal.complaint, name) {
						t.Errorf("%s %q: refused with %v", way, value, err)
					}
				}
			}
		})
	}
}

// ways is how a value can be set: as text, and as a number if it is one.
func ways(value string) []string {
	if _, err := strconv.Atoi(value); err != nil {
		return []string{"--set-string"}
	}
	return []string{"--set-string", "--set"}
}
