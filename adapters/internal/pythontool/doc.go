// Package pythontool runs the Python programs that find streams, yt-dlp and
// streamlink, and reads what is alike in their output:
//
//	Tool.Run ─▶ Result     the tool ran to its end by itself
//	         └▶ *Failure   it did not: missing, too slow, killed, too much output
//	Diagnose               what a message about the network means, cause first
//	OneLine                a message as one line, without signed URLs
//
// Both tools do their HTTP through requests and urllib3, so their messages are the
// same. They get this process's environment, because HTTPS_PROXY, SSL_CERT_FILE and
// PYTHONPATH must reach them (decision O8).
package pythontool
