// Package pythontool runs yt-dlp and streamlink, and reads the messages that both print:
//
//	Tool.Run ─▶ Result     the tool ran to its end by itself
//	         └▶ *Failure   it did not: missing, too slow, killed, too much output
//	Diagnose               the cause of a network failure, from its message
//	OneLine                a message as one line, without signed URLs
//	Expiry                 when the server begins to refuse signed URLs
//
// Both tools use requests and urllib3, so their network messages are the same. They get
// the environment of this process: HTTPS_PROXY, SSL_CERT_FILE and PYTHONPATH must reach
// them (decision O8).
package pythontool
