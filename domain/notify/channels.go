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
			{Name: "url", Secret: true, Required: true, check: checkURL, Example: "https://example.com/hook", Words: words(
				"URL", "Every event is sent here by POST. Ask whoever runs the receiver.",
				"URL", "すべてのイベントをPOSTで送信します。受信側の担当者に確認してください。")},
			{Name: "signing_key", Secret: true, Required: true, Example: "0123456789abcdef0123456789abcdef", Words: words(
				"Signing key", "Choose a long random text, and give it to the receiver, which verifies the signature with it.",
				"署名キー", "長いランダムな文字列を決め、受信側にも設定します。受信側はこれで署名を検証します。")},
			{Name: "previous_signing_key", Secret: true, Example: "fedcba9876543210fedcba9876543210", Words: words(
				"Previous signing key", "Leave it empty: after a change the key before signs, too, for 24 hours.",
				"以前の署名キー", "通常は空のままにします。署名キーの変更後24時間は、変更前のキーでも署名します。")},
		},
	},
	{
		Kind: Slack, Edits: true, PictureWait: pictureWait, RateLimit: RateLimit{1, time.Second},
		Fields: []Field{
			{Name: "bot_token", Secret: true, Example: "xoxb-TOKEN", Words: words(
				"Bot token", "In Slack: your app → OAuth & Permissions → Bot User OAuth Token. It needs the scope chat:write, and the channel.",
				"ボットトークン", "Slackで「アプリ → OAuth & Permissions → Bot User OAuth Token」。スコープchat:writeとチャンネルIDが必要です。")},
			{Name: "channel", Example: "C0123456789", Words: words(
				"Channel ID", "In Slack: the channel's name → About, at the bottom. Invite the bot to the channel.",
				"チャンネルID", "Slackで「チャンネル名 → チャンネル情報」の一番下。ボットをチャンネルに招待してください。")},
			{Name: "webhook_url", Secret: true, check: checkURL, Example: "https://example.com/services/T000/B000/XXXX", Words: words(
				"Incoming webhook", "In place of a bot and a channel; its messages cannot be edited. In Slack: your app → Incoming Webhooks → Copy.",
				"Incoming Webhook", "ボットとチャンネルIDの代わりに使います。送信後のメッセージは更新できません。Slackで「アプリ → Incoming Webhooks → Copy」。")},
			apiURL,
		},
	},
	{
		Kind: Discord, Edits: true, RateLimit: RateLimit{5, 400 * time.Millisecond},
		Fields: []Field{
			{Name: "webhook_url", Secret: true, Required: true, check: checkURL, Example: "https://example.com/api/webhooks/1234/XXXX", Words: words(
				"Webhook URL", "In Discord: Edit Channel → Integrations → Webhooks → Copy Webhook URL.",
				"WebhookのURL", "Discordで「チャンネルの編集 → 連携サービス → ウェブフック → ウェブフックURLをコピー」。")},
		},
	},
	{
		Kind: Teams, PictureWait: pictureWait, RateLimit: RateLimit{4, 250 * time.Millisecond},
		Fields: []Field{
			{Name: "workflow_url", Secret: true, Required: true, check: checkURL, Example: "https://example.com/workflows/XXXX", Words: words(
				"Workflow URL", "In Teams: the channel's … → Workflows → Send webhook alerts to a channel. It is shown at the end.",
				"ワークフローのURL", "Teamsでチャネルの「… → ワークフロー → Webhookアラートをチャネルに送信する」。最後に表示されます。")},
		},
	},
	{
		Kind: LINE, PictureWait: pictureWait, RateLimit: RateLimit{10, 100 * time.Millisecond},
		Fields: []Field{
			{Name: "channel_access_token", Secret: true, Required: true, Example: "XXXXXXXXXXXXXXXX=", Words: words(
				"Channel access token", "In LINE Developers: your channel → Messaging API → Channel access token (long-lived) → Issue.",
				"チャネルアクセストークン", "LINE Developersで「チャネル → Messaging API設定 → チャネルアクセストークン（長期） → 発行」。")},
			{Name: "to", Required: true, Example: "C0123456789abcdef0123456789abcdef", Words: words(
				"Receiver's ID", "Of a user (U…), group (C…) or room (R…). Your own is in LINE Developers: your channel → Basic settings → Your user ID.",
				"受信者のID", "ユーザー（U…）、グループ（C…）、トークルーム（R…）のID。自分のIDはLINE Developersの「チャネル基本設定 → あなたのユーザーID」。")},
			apiURL,
		},
	},
	{
		Kind: Telegram, Edits: true, RateLimit: RateLimit{1, time.Second},
		Fields: []Field{
			{Name: "bot_token", Secret: true, Required: true, Example: "123456789:XXXXXXXX", Words: words(
				"Bot token", "In Telegram: send /newbot to @BotFather, which answers with it.",
				"ボットトークン", "Telegramで@BotFatherに/newbotと送ると、返信に書かれています。")},
			{Name: "chat_id", Required: true, Example: "-1001234567890", Words: words(
				"Chat ID", "Add the bot to the group and open the group in Telegram Web: its address ends with the ID, minus sign included. Or @ and the name of a public channel.",
				"チャットID", "ボットをグループに追加し、Telegram Webでグループを開くと、アドレスの最後にあります（マイナス記号も含む）。公開チャンネルは@と名前。")},
			apiURL,
		},
	},
	{
		Kind: PagerDuty, Edits: true, KeepsAlerts: true, PictureWait: pictureWait, RateLimit: RateLimit{10, 500 * time.Millisecond},
		Fields: []Field{
			{Name: "routing_key", Secret: true, Required: true, Example: "0123456789abcdef0123456789abcdef", Words: words(
				"Integration key", "In PagerDuty: the service → Integrations → Events API V2 → Integration Key.",
				"インテグレーションキー", "PagerDutyで「サービス → Integrations → Events API V2 → Integration Key」。")},
			apiURL,
		},
	},
	{
		Kind: Ntfy, Edits: true, RateLimit: RateLimit{60, 5 * time.Second},
		Fields: []Field{
			{Name: "server_url", NamesServer: true, check: checkURL, Example: "https://ntfy.example.com", Words: words(
				"Server", "Empty: https://ntfy.sh. Otherwise the URL of your own server.",
				"サーバー", "空の場合はhttps://ntfy.sh。自分のサーバーを使う場合はそのURL。")},
			{Name: "topic", Required: true, Example: "stream-alerts-x7k2p9", Words: words(
				"Topic", "Any name that nobody guesses. In the app: + → Subscribe to topic, with the same name.",
				"トピック", "推測されにくい任意の名前。アプリの「+ → Subscribe to topic」に同じ名前を入力します。")},
			{Name: "token", Secret: true, Example: "tk_XXXXXXXX", Words: words(
				"Access token", "Only for a protected topic. In ntfy: Account → Access tokens → Create.",
				"アクセストークン", "保護されたトピックの場合だけ必要です。ntfyで「Account → Access tokens → Create」。")},
		},
	},
	{
		Kind: Email, PictureWait: pictureWait, RateLimit: RateLimit{10, time.Second},
		Fields: []Field{
			{Name: "host", Required: true, NamesServer: true, Example: "smtp.example.com", Words: words(
				"Mail server", "Your mail provider lists it as SMTP, or server for outgoing mail.",
				"メールサーバー", "メールサービスの案内にあるSMTPサーバー（送信サーバー）の名前。")},
			{Name: "port", check: checkPort, Example: "587", Words: words(
				"Port", "Empty: 587 with starttls, 465 with tls. It is listed beside the server.",
				"ポート", "空の場合、starttlsは587、tlsは465。サーバーの名前と一緒に案内されています。")},
			{Name: "security", check: checkSecurity, Example: "starttls", Words: words(
				"Encryption", "starttls or tls. Empty: starttls. It is listed beside the server.",
				"暗号化", "starttlsまたはtls。空の場合はstarttls。サーバーの名前と一緒に案内されています。")},
			{Name: "username", Example: "alerts@example.com", Words: words(
				"User name", "To log in to the mail server with; mostly the whole address. Empty: there is no login.",
				"ユーザー名", "メールサーバーへのログインに使います。多くはメールアドレス全体です。空の場合はログインしません。")},
			{Name: "password", Secret: true, Example: "a-password", Words: words(
				"Password", "That of the user name. Many providers want a password made for apps.",
				"パスワード", "上のユーザー名のパスワード。アプリ専用のパスワードが必要なサービスもあります。")},
			{Name: "from", Required: true, check: checkAddress, Example: "alerts@example.com", Words: words(
				"Sender", "The address from which messages come. The mail server must allow it.",
				"差出人", "メッセージの送信元のアドレス。メールサーバーが許可している必要があります。")},
			{Name: "to", Required: true, check: checkAddresses, Example: "desk@example.com, night@example.com", Words: words(
				"Receivers", "Up to 20 addresses, with commas between them.",
				"受信者", "20件までのアドレス。コンマで区切ります。")},
		},
	},
}

var apiURL = Field{Name: "api_url", NamesServer: true, check: checkURL, Example: "https://proxy.example.com", Words: words("API URL", "Leave it empty: only for a proxy, or for a region that has a server of its own.",
	"APIのURL", "通常は空のままにします。プロキシーや、専用のサーバーがある地域の場合だけ入力してください。")}

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
