//go:build cluster

package cluster_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestTheChartRefuses sets one thing wrong, or two that go wrong together, in an
// installation that is right without it. What helm says is held, without the
// command line; a dot in it is the dot or slash of a path.
func TestTheChartRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		says string
	}{
		"no database":                {[]string{"secret.values.DB_DSN="}, "DB_DSN is missing"},
		"no image":                   {[]string{"image.tag="}, "image.tag is missing"},
		"no image's name":            {[]string{"image.repository="}, "image.repository"},
		"nothing to be generated":    {[]string{"generate=false", "tls.existingSecret=c"}, "secret.values.API_KEY is missing, and generate is false"},
		"no certificate, either":     {[]string{"generate=false", "secret.existingSecret=k"}, "tls.existingSecret is missing, and generate is false"},
		"a minimum above all":        {[]string{"autoscaling.minReplicas=4"}, "a minimum that is not above the maximum"},
		"a Secret's name too long":   {[]string{"secret.existingSecret=" + strings.Repeat("a", 254)}, "secret.existingSecret"},
		"a pull Secret's, likewise":  {[]string{"image.pullSecrets[0].name=" + strings.Repeat("a", 254)}, "image.pullSecrets.0.name"},
		"a name too long":            {[]string{"fullnameOverride=" + strings.Repeat("a", 41)}, "fullnameOverride"},
		"a label that selects":       {[]string{`gateway.podLabels.app\.kubernetes\.io/component=x`}, "gateway.podLabels sets app.kubernetes.io/component"},
		"a worker's, likewise":       {[]string{"worker.podLabels.app=x"}, "worker.podLabels sets app,"},
		"a port of DNS that is none": {[]string{"networkPolicy.dnsPorts={0}"}, "networkPolicy.dnsPorts.0"},
		"a misspelt value":           {[]string{"setings.LOG_LEVEL=debug"}, "setings"},
		"a misspelt setting":         {[]string{"settings.LOGLEVEL=debug"}, "LOGLEVEL"},
		"what is the chart's":        {[]string{"settings.WORKER_RUNTIME=process"}, "WORKER_RUNTIME"},
		"an unknown level":           {[]string{"settings.LOG_LEVEL=loud"}, "settings.LOG_LEVEL"},
		"a policy that is none":      {[]string{"settings.MISSING_WORKER=ignore"}, "settings.MISSING_WORKER"},
		"a number that is none":      {[]string{"settings.MAX_MONITORS=many"}, "settings.MAX_MONITORS"},
		"a time that is none":        {[]string{"settings.SCHEDULE_LEAD_TIME=soon"}, "settings.SCHEDULE_LEAD_TIME"},
		"a network that is none":     {[]string{"settings.TRUSTED_PROXIES=everybody"}, "settings.TRUSTED_PROXIES"},
		"a database that is none":    {[]string{"secret.values.DB_DSN=mysql://h/d"}, "secret.values.DB_DSN"},
		"a proxy that is none":       {[]string{"secret.values.HTTPS_PROXY=proxy"}, "secret.values.HTTPS_PROXY"},
		"latest":                     {[]string{"image.tag=latest"}, "image.tag"},
		"a policy of pulling":        {[]string{"image.pullPolicy=Sometimes"}, "image.pullPolicy"},
		"too many seconds":           {[]string{"gateway.drainSeconds=900"}, "gateway.drainSeconds"},
		"a budget against drains":    {[]string{"podDisruptionBudget.maxUnavailable=0"}, "podDisruptionBudget.maxUnavailable"},
		"no replica at least":        {[]string{"autoscaling.minReplicas=0"}, "autoscaling.minReplicas"},
		"an unknown kind of access":  {[]string{"service.type=ExternalName"}, "service.type"},
		"a volume without a name":    {[]string{"worker.extraVolumes[0].emptyDir.medium=Memory"}, "worker.extraVolumes"},
		"memory that is none":        {[]string{"worker.resources.limits.memory=plenty"}, "worker.resources.limits.memory"},
		"a unit that is none":        {[]string{"worker.resources.limits.memory=1ki"}, "worker.resources.limits.memory"},
		"an address that is none":    {[]string{"tls.extraNames={192.0.2.777}"}, "192.0.2.777"},
		"one key for both APIs":      {[]string{"secret.values.API_KEY=a", "secret.values.INTERNAL_API_KEY=a"}, "two different keys"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, append([]string{dsn, tag}, c.set...)...)
			said := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(c.says), `\.`, `[./]`))
			if refusal, ok := errors.AsType[*failure](err); !ok || !said.MatchString(refusal.complaint) {
				t.Errorf("refused with %v, want something about %s", err, c.says)
			}
		})
	}
}
