package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// keys checks the keys that serve requires (decision P4).
func (d Doctor) keys(context.Context) []finding {
	const subject = "keys"
	path := config.KeysPath(d.Settings.Database.DataDir)
	missing := d.Settings.Keys.Missing()
	list := strings.Join(missing, ", ")
	switch _, err := config.ReadKeys(path); {
	case len(missing) == 0:
		return []finding{{subject: subject, verdict: fine, found: "all that are required are set"}}
	case err == nil:
		return []finding{{subject: subject, verdict: fine, found: fmt.Sprintf("%s (for %s)", path, list)}}
	case !errors.Is(err, fs.ErrNotExist):
		return []finding{{subject, fail, err.Error(), "", ""}}
	case d.Settings.Database.HasExternalDatabase():
		return []finding{{subject, fail, list + " not set", "all of them, because DB_DSN is set",
			"set each to a different secret, such as the output of: openssl rand -hex 32; after a restore, put the keys.json of your backup into DATA_DIR or give all five keys"}}
	default:
		return []finding{{subject: subject, verdict: fine, found: fmt.Sprintf("%s will be generated at the first start, in %s", list, path)}}
	}
}

// secretHelp returns the instructions for a Standard Webhooks library (decision W5). They
// contain a command that prints the secret, not the secret.
func (d Doctor) secretHelp() string {
	return "Standard Webhooks libraries expect the signing key in base64 after the prefix whsec_. To print it in this form:\n  " + d.secretCommand() + "\n"
}

// secretCommand returns a command for a POSIX shell.
func (d Doctor) secretCommand() string {
	if len(d.Settings.Keys.WebhookSigningKey) > 0 {
		return `printf %s "${WEBHOOK_SIGNING_KEY%%,*}" | base64 -w0 | sed 's/^/whsec_/'`
	}
	path := "'" + strings.ReplaceAll(config.KeysPath(d.Settings.Database.DataDir), "'", `'\''`) + "'"
	return `sed -n 's/.*"WEBHOOK_SIGNING_KEY": "\([^",]*\).*/\1/p' ` + path + ` | tr -d '\n' | base64 -w0 | sed 's/^/whsec_/'`
}
