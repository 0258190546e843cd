package notify

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pictureWait is how long a first message waits for the picture where it cannot be added
// later (section 19.3).
const pictureWait = 3 * time.Second

// channels is the table of section 19.1. The rate limits are those of the providers for one
// destination. E-mail has 10 messages, then one a second, which mail servers accept.
var channels = []Channel{
	{
		Kind: Webhook, GetsEvents: true,
		Fields: []Field{
			{Name: "url", Secret: true, Required: true, Help: "The URL that gets every event by POST.", check: checkURL},
			{Name: "signing_key", Secret: true, Required: true, Help: "The key that signs the payloads."},
			{Name: "previous_signing_key", Secret: true, Help: "The former key, which also signs for 24 hours."},
		},
	},
	{
		Kind: Slack, Edits: true, PictureWait: pictureWait, RateLimit: RateLimit{1, time.Second},
		Fields: []Field{
			{Name: "bot_token", Secret: true, Help: "The token of a bot in the channel, which can edit its messages (xoxb-…)."},
			{Name: "channel", Help: "The ID of the channel that the bot writes to (C…)."},
			{Name: "webhook_url", Secret: true, Help: "An incoming webhook, instead of a bot. It cannot edit.", check: checkURL},
			apiURL,
		},
	},
	{
		Kind: Discord, Edits: true, RateLimit: RateLimit{5, 400 * time.Millisecond},
		Fields: []Field{{Name: "webhook_url", Secret: true, Required: true, Help: "The URL of a webhook of the channel.", check: checkURL}},
	},
	{
		Kind: Teams, PictureWait: pictureWait, RateLimit: RateLimit{4, 250 * time.Millisecond},
		Fields: []Field{{Name: "workflow_url", Secret: true, Required: true, Help: "The URL of a workflow that posts to the channel.", check: checkURL}},
	},
	{
		Kind: LINE, PictureWait: pictureWait, RateLimit: RateLimit{10, 100 * time.Millisecond},
		Fields: []Field{
			{Name: "channel_access_token", Secret: true, Required: true, Help: "The long-lived token of the Messaging API channel."},
			{Name: "to", Required: true, Help: "The ID of the user, group or room."},
			apiURL,
		},
	},
	{
		Kind: Telegram, Edits: true, RateLimit: RateLimit{1, time.Second},
		Fields: []Field{
			{Name: "bot_token", Secret: true, Required: true, Help: "The token of the bot."},
			{Name: "chat_id", Required: true, Help: "The ID of the chat, or @ and the name of a public channel."},
			apiURL,
		},
	},
	{
		Kind: PagerDuty, Edits: true, KeepsAlerts: true, PictureWait: pictureWait, RateLimit: RateLimit{10, 500 * time.Millisecond},
		Fields: []Field{
			{Name: "routing_key", Secret: true, Required: true, Help: "The integration key of the service (Events API v2)."},
			apiURL,
		},
	},
	{
		Kind: Ntfy, Edits: true, RateLimit: RateLimit{60, 5 * time.Second},
		Fields: []Field{
			{Name: "server_url", NamesServer: true, Help: "The server, if it is not https://ntfy.sh.", check: checkURL},
			{Name: "topic", Required: true, Help: "The topic that people subscribe to."},
			{Name: "token", Secret: true, Help: "The access token of a protected topic."},
		},
	},
	{
		Kind: Email, PictureWait: pictureWait, RateLimit: RateLimit{10, time.Second},
		Fields: []Field{
			{Name: "host", Required: true, NamesServer: true, Help: "The name of the SMTP server."},
			{Name: "port", Help: "Its port: 587 with starttls and 465 with tls, if it is left out.", check: checkPort},
			{Name: "security", Help: "starttls (default) or tls.", check: checkSecurity},
			{Name: "username", Help: "The name to log in with; without one, nobody logs in."},
			{Name: "password", Secret: true, Help: "The password of that name."},
			{Name: "from", Required: true, Help: "The address of the sender.", check: checkAddress},
			{Name: "to", Required: true, Help: "The addresses of the receivers, separated by commas; at most 20.", check: checkAddresses},
		},
	},
}

var apiURL = Field{Name: "api_url", NamesServer: true, Help: "The API, if it is not that of the provider.", check: checkURL}

// Channels lists the channels in the order of section 19.1.
func Channels() []Channel { return slices.Clone(channels) }

// ChannelOf returns the channel of a kind; ok is false for an unknown kind.
func ChannelOf(kind Kind) (c Channel, ok bool) {
	n := slices.IndexFunc(channels, func(c Channel) bool { return c.Kind == kind })
	if n < 0 {
		return Channel{}, false
	}
	return channels[n], true
}

// checkURL returns what is wrong with the form of a URL. Which networks a URL may lead to is checked where the network is
// known (decision A2).
func checkURL(s string) (why string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return "is no URL with http or https and a host"
	case u.User != nil:
		return "must not carry a user name or password"
	case u.Fragment != "":
		return "must not carry a fragment"
	case u.Port() != "" && checkPort(u.Port()) != "":
		return "has a port outside 1 to 65535"
	}
	return ""
}

func checkPort(s string) (why string) {
	if n, err := strconv.ParseUint(s, 10, 16); err != nil || n == 0 {
		return "is no port; accepted is 1 to 65535"
	}
	return ""
}

func checkSecurity(s string) (why string) {
	if s != "starttls" && s != "tls" {
		return "is neither starttls nor tls"
	}
	return ""
}

// checkAddress accepts local@domain. The mail server judges the rest.
func checkAddress(s string) (why string) {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" || domain == "" || strings.ContainsAny(s, " ,;:<>()[]\\\"") || strings.Contains(domain, "@") || len(s) > 254 {
		return "is no e-mail address such as team@example.com"
	}
	return ""
}

func checkAddresses(s string) (why string) {
	all := Addresses(s)
	if len(all) > 20 {
		return "has more than 20 addresses"
	}
	for _, a := range all {
		if why := checkAddress(a); why != "" {
			return why + ", or several with commas between them"
		}
	}
	return ""
}

// Addresses splits the receivers of an e-mail destination.
func Addresses(to string) (all []string) {
	for a := range strings.SplitSeq(to, ",") {
		all = append(all, strings.TrimSpace(a))
	}
	return all
}
