//go:build cluster

package cluster_test

import (
	"regexp"
	"strings"
	"testing"
)

func TestTheChartRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		says string
	}{
		"no database":                {[]string{tag, "nameOverride=x"}, "DB_DSN is missing"},
		"no image":                   {[]string{dsn}, "image.tag is missing"},
		"no image's name":            {[]string{dsn, "image.repository="}, "repository"},
		"nothing to be generated":    {[]string{dsn, tag, "generate=false", "tls.existingSecret=c"}, "secret.values.API_KEY is missing, and generate is false"},
		"no certificate, either":     {[]string{tag, "generate=false", "secret.existingSecret=k"}, "tls.existingSecret is missing, and generate is false"},
		"a minimum above all":        {[]string{dsn, tag, "autoscaling.minReplicas=4"}, "minimum"},
		"a Secret's name too long":   {[]string{"secret.existingSecret=" + strings.Repeat("a", 254)}, "existingSecret"},
		"a pull Secret's, likewise":  {[]string{"image.pullSecrets[0].name=" + strings.Repeat("a", 254)}, "pullSecrets"},
		"a name too long":            {[]string{"fullnameOverride=" + strings.Repeat("a", 41)}, "fullnameOverride"},
		"a label that selects":       {[]string{dsn, tag, `gateway.podLabels.app\.kubernetes\.io/component=x`}, "gateway.podLabels sets app.kubernetes.io/component"},
		"a worker's, likewise":       {[]string{dsn, tag, "worker.podLabels.app=x"}, "worker.podLabels sets app,"},
		"a port of DNS that is none": {[]string{dsn, "networkPolicy.dnsPorts={0}"}, "dnsPorts"},
		"a misspelt value":           {[]string{dsn, "setings.LOG_LEVEL=debug"}, "setings"},
		"a misspelt setting":         {[]string{dsn, "settings.LOGLEVEL=debug"}, "LOGLEVEL"},
		"what is the chart's":        {[]string{dsn, "settings.WORKER_RUNTIME=process"}, "WORKER_RUNTIME"},
		"an unknown level":           {[]string{dsn, "settings.LOG_LEVEL=loud"}, "LOG_LEVEL"},
		"a policy that is none":      {[]string{dsn, "settings.MISSING_WORKER=ignore"}, "MISSING_WORKER"},
		"a number that is none":      {[]string{dsn, "settings.MAX_MONITORS=many"}, "MAX_MONITORS"},
		"a time that is none":        {[]string{dsn, "settings.SCHEDULE_LEAD_TIME=soon"}, "SCHEDULE_LEAD_TIME"},
		"a network that is none":     {[]string{dsn, "settings.TRUSTED_PROXIES=everybody"}, "TRUSTED_PROXIES"},
		"a database that is none":    {[]string{"secret.values.DB_DSN=mysql://h/d"}, "DB_DSN"},
		"a proxy that is none":       {[]string{dsn, "secret.values.HTTPS_PROXY=proxy"}, "HTTPS_PROXY"},
		"latest":                     {[]string{dsn, "image.tag=latest"}, "tag"},
		"a policy of pulling":        {[]string{dsn, "image.pullPolicy=Sometimes"}, "pullPolicy"},
		"too many seconds":           {[]string{dsn, "gateway.drainSeconds=900"}, "drainSeconds"},
		"a budget against drains":    {[]string{dsn, "podDisruptionBudget.maxUnavailable=0"}, "maxUnavailable"},
		"no replica at least":        {[]string{dsn, "autoscaling.minReplicas=0"}, "minReplicas"},
		"an unknown kind of access":  {[]string{dsn, "service.type=ExternalName"}, "type"},
		"a volume without a name":    {[]string{dsn, "worker.extraVolumes[0].emptyDir.medium=Memory"}, "extraVolumes"},
		"memory that is none":        {[]string{dsn, "worker.resources.limits.memory=plenty"}, "memory"},
		"one key for both APIs":      {[]string{dsn, tag, "secret.values.API_KEY=a", "secret.values.INTERNAL_API_KEY=a"}, "two different keys"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, c.set...)
			if err == nil || !regexp.MustCompile(regexp.QuoteMeta(c.says)).MatchString(err.Error()) {
				t.Errorf("refused with %v, want something about %s", err, c.says)
			}
		})
	}
}
