//go:build cluster

package cluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each case sets one invalid value, or two that conflict, in values that are
// otherwise valid. want is part of helm's error; its dots also match the slashes of
// a JSON path.
func TestTheChartRefusesInvalidValues(t *testing.T) {
	existing := []string{apart, "secret.existingSecret=keys", "tls.existingSecret=certificate"}
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"no database":                            {[]string{"secret.values.DB_DSN="}, "DB_DSN is missing"},
		"no image":                               {[]string{"image.tag="}, "image.tag is missing"},
		"no repository":                          {[]string{"image.repository="}, "image.repository"},
		"no keys, and none generated":            {[]string{"generate=false", "tls.existingSecret=c"}, "secret.values.API_KEY is missing, and generate is false"},
		"no certificate, and none generated":     {[]string{"generate=false", "secret.existingSecret=k"}, "tls.existingSecret is missing, and generate is false"},
		"a minimum above the maximum":            {[]string{"autoscaling.minReplicas=4"}, "a minimum that is not above the maximum"},
		"a Secret's name too long":               {[]string{"secret.existingSecret=" + strings.Repeat("a", 254)}, "secret.existingSecret"},
		"a pull Secret's, likewise":              {[]string{"image.pullSecrets[0].name=" + strings.Repeat("a", 254)}, "image.pullSecrets.0.name"},
		"a name too long":                        {[]string{"fullnameOverride=" + strings.Repeat("a", 41)}, "fullnameOverride"},
		"a label of the selector":                {[]string{`gateway.podLabels.app\.kubernetes\.io/component=x`}, "gateway.podLabels sets app.kubernetes.io/component"},
		"a label of the worker selector":         {[]string{"worker.podLabels.app=x"}, "worker.podLabels sets app,"},
		"an invalid DNS port":                    {[]string{"networkPolicy.dnsPorts={0}"}, "networkPolicy.dnsPorts.0"},
		"an invalid namespace of workers":        {[]string{"worker.namespace=Streams"}, "worker.namespace"},
		"an invalid port of the database":        {[]string{"networkPolicy.databasePort=0"}, "networkPolicy.databasePort"},
		"a misspelt value":                       {[]string{"setings.LOG_LEVEL=debug"}, "setings"},
		"a misspelt setting":                     {[]string{"settings.LOGLEVEL=debug"}, "LOGLEVEL"},
		"a setting that the chart sets":          {[]string{"settings.WORKER_RUNTIME=process"}, "WORKER_RUNTIME"},
		"an unknown level":                       {[]string{"settings.LOG_LEVEL=loud"}, "settings.LOG_LEVEL"},
		"an invalid policy":                      {[]string{"settings.MISSING_WORKER=ignore"}, "settings.MISSING_WORKER"},
		"an invalid number":                      {[]string{"settings.MAX_MONITORS=many"}, "settings.MAX_MONITORS"},
		"an invalid duration":                    {[]string{"settings.SCHEDULE_LEAD_TIME=soon"}, "settings.SCHEDULE_LEAD_TIME"},
		"an invalid network":                     {[]string{"settings.TRUSTED_PROXIES=everyone"}, "settings.TRUSTED_PROXIES"},
		"an invalid database URL":                {[]string{"secret.values.DB_DSN=mysql://h/d"}, "secret.values.DB_DSN"},
		"an invalid proxy":                       {[]string{"secret.values.HTTPS_PROXY=proxy"}, "secret.values.HTTPS_PROXY"},
		"an invalid list of proxies":             {[]string{`secret.values.EGRESS_PROXIES=direct\,proxy`}, "secret.values.EGRESS_PROXIES"},
		"an Ingress without a host":              {[]string{"ingress.enabled=true"}, "ingress.host is missing"},
		"an invalid host":                        {[]string{"ingress.host=https://a.example"}, "ingress.host"},
		"an invalid architecture":                {[]string{"image.architecture=linux/arm64"}, "image.architecture"},
		"the tag latest":                         {[]string{"image.tag=latest"}, "image.tag"},
		"an invalid pull policy":                 {[]string{"image.pullPolicy=Sometimes"}, "image.pullPolicy"},
		"too many seconds":                       {[]string{"gateway.drainSeconds=900"}, "gateway.drainSeconds"},
		"a disruption budget that blocks drains": {[]string{"podDisruptionBudget.maxUnavailable=0"}, "podDisruptionBudget.maxUnavailable"},
		"a minimum of no replicas":               {[]string{"autoscaling.minReplicas=0"}, "autoscaling.minReplicas"},
		"an unsupported Service type":            {[]string{"service.type=ExternalName"}, "service.type"},
		"a volume without a name":                {[]string{"worker.extraVolumes[0].emptyDir.medium=Memory"}, "worker.extraVolumes"},
		"an invalid amount of memory":            {[]string{"worker.resources.limits.memory=plenty"}, "worker.resources.limits.memory"},
		"an invalid unit":                        {[]string{"worker.resources.limits.memory=1ki"}, "worker.resources.limits.memory"},
		"an invalid address":                     {[]string{"tls.extraNames={192.0.2.777}"}, "192.0.2.777"},
		"one key for both APIs":                  {[]string{"secret.values.API_KEY=one-key-for-both", "secret.values.INTERNAL_API_KEY=one-key-for-both"}, "two different keys"},
		"an API key that is too short":           {[]string{"secret.values.API_KEY=fifteen-letters"}, "secret.values.API_KEY"},
		"no CA beside the workers' Secret":       {append(slices.Clone(existing), "worker.existingSecret=worker-keys"), "worker.existingCASecret is missing"},
		"no Secret beside the workers' CA":       {append(slices.Clone(existing), "worker.existingCASecret=authority"), "worker.existingSecret is missing"},
		"an internal key that is too short":      {[]string{"secret.values.INTERNAL_API_KEY=fifteen-letters"}, "secret.values.INTERNAL_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, append([]string{dsn, tag}, c.set...)...)
			want := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(c.want), `\.`, `[./]`))
			if refusal, ok := errors.AsType[*toolError](err); !ok || !want.MatchString(refusal.stderr) {
				t.Errorf("the error is %v, want one with %s", err, c.want)
			}
		})
	}
}

// rangedSetting matches a setting with a range in the program: minimum, maximum, name.
var rangedSetting = regexp.MustCompile(`type:"(?:integer|numeral|duration)" min:"(\w+)" max:"(\w+)" env:"(\w+)"`)

// A gateway with a setting out of range would exit at every start.
func TestTheChartAcceptsTheRangesOfTheProgram(t *testing.T) {
	files, err := filepath.Glob("../../../cmd/stream-monitor/internal/config/*.go")
	must(t, err)
	ranges := map[string][]string{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(t, err)
		for _, setting := range rangedSetting.FindAllStringSubmatch(string(source), -1) {
			ranges[setting[3]] = setting[1:3]
		}
	}
	type values struct{ valid, invalid []string }
	retention := values{
		[]string{"", "3600", "3153600000", "3600s", "3153600000s", "60m", "52560000m", "36h30m", "875999h59m59s", "876000h", "1d", "90d"},
		[]string{"0d", "3599", "59m", "3153600001", "52560001m", "876000h1s", "876001h", "36501d"},
	}
	short := values{[]string{"", "3600", "60m", "72h", "35d", "36500d"}, []string{"0d", "3599", "59m", "36501d"}}
	upToADay := values{
		[]string{"", "0", "600", "86400", "86400s", "1439m59s", "1440m", "1h30m", "23h59m59s", "24h"},
		[]string{"-1s", "86401", "86401s", "1441m", "24h1s", "25h", "2d"},
	}
	for name, c := range map[string]values{
		"MAX_MONITORS":              {[]string{"", "50", "9999"}, []string{"0", "10001", "20000", "5.5"}},
		"RATE_LIMIT_CREATE_PER_MIN": {[]string{"", "10", "59999999"}, []string{"-1", "60000001", "100000000"}},
		"RATE_LIMIT_QUERY_PER_MIN":  {[]string{"", "100", "9999999"}, []string{"-1", "60000001", "100000000"}},
		"SCHEDULE_LEAD_TIME":        upToADay,
		"SECOND_OPINION_COOLDOWN":   upToADay,
		"GATEWAY_RECONCILE_TIMEOUT": {
			[]string{"", "1", "30", "599s", "600", "600s", "1m30s", "9m59s"},
			[]string{"0", "0s", "601", "601s", "10m1s", "11m", "1h", "1d"},
		},
		"FEED_RETENTION":                short,
		"HISTORY_RETENTION":             short,
		"EVENT_RETENTION":               retention,
		"EVIDENCE_RETENTION":            retention,
		"EVIDENCE_BUDGET_MIB":           {[]string{"", "64", "999999", "1048575"}, []string{"0", "-1", "5.5", "1048577", "1048580", "2000000"}},
		"EVIDENCE_QUARANTINE_RETENTION": retention,
	} {
		t.Run(name, func(t *testing.T) {
			if ranges[name] == nil {
				t.Fatal("the program has no range for this setting")
			}
			renderWith := func(flag, value string) error {
				_, err := run(t.Context(), "helm", "template", release, chart, "--kube-version", "v1.34.0", "--set", dsn, "--set", tag, flag, "settings."+name+"="+value)
				return err
			}
			for _, value := range append(c.valid, ranges[name]...) {
				for _, flag := range flagsFor(value) {
					if err := renderWith(flag, value); err != nil {
						t.Errorf("%s: %v", flag, err)
					}
				}
			}
			for _, value := range c.invalid {
				for _, flag := range flagsFor(value) {
					err := renderWith(flag, value)
					if refusal, ok := errors.AsType[*toolError](err); !ok || !strings.Contains(refusal.stderr, name) {
						t.Errorf("%s %q: the error is %v", flag, value, err)
					}
				}
			}
		})
	}
}

// flagsFor lists the helm flags for a value: as text, and as a number if it is one.
func flagsFor(value string) []string {
	if _, err := strconv.Atoi(value); err != nil {
		return []string{"--set-string"}
	}
	return []string{"--set-string", "--set"}
}
