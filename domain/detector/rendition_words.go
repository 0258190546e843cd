package detector

var renditionWords = Words{
	English: Phrases{
		Title:     "A quality is bad",
		State:     "a quality bad",
		Lasts:     "Another quality has been bad for {lasted}.",
		Alert:     "Another quality is bad",
		Recovered: "All qualities are good again",
		Means:     "A quality is bad if it is gone, stands still, cannot be read or is black, while the watched one is not. Two looks have to agree.",
		First:     "which quality is it, and is it bad in a browser too? → the monitor's page names it.",
		Check:     "Is the quality bad in a browser, too? Then the platform makes it so, because the encoder sends one quality alone: its support, or a new start of the stream, may help. A quality that is gone may be meant: an encoder that sends fewer lines has fewer qualities.",
		Settings:  map[string]string{"detectors.rendition.threshold_sec": "Another quality bad: alert after, s"},
		Values: map[string]string{
			"qualities": "Other qualities", "bad": "Of them bad", "height": "Quality, lines", "kbps": "Quality, kb/s",
			"failed": "Cannot be read (1: yes)", "stalled": "Stands still (1: yes)", "black": "Black (1: yes)", "gone": "Gone (1: yes)",
		},
	},
	Japanese: Phrases{
		Title:     "一部の画質に異常",
		State:     "一部の画質に異常",
		Lasts:     "一部の画質の異常が{lasted}継続。",
		Alert:     "一部の画質に異常",
		Recovered: "すべての画質が復旧",
		Means:     "監視中の画質が正常なのに、消えた、更新が止まった、読み取れない、または真っ黒な画質があれば異常（2回続けて確認した場合）。",
		First:     "どの画質か監視ページで確認 → ブラウザーでも同じ異常？",
		Check:     "ブラウザーでもその画質に異常がありますか。あれば原因は配信サイト側です（エンコーダーが送る画質は1つだけです）。サポートへの連絡や、配信の再開始で直ることがあります。消えた画質は意図的な場合もあります。エンコーダーの解像度を下げると、画質の数も減ります。",
		Settings:  map[string]string{"detectors.rendition.threshold_sec": "ほかの画質の異常のアラートまで（秒）"},
		Values: map[string]string{
			"qualities": "ほかの画質の数", "bad": "異常な画質の数", "height": "異常な画質（縦の画素数）", "kbps": "異常な画質（kb/s）",
			"failed": "読み取り不可（1：該当）", "stalled": "更新停止（1：該当）", "black": "真っ黒（1：該当）", "gone": "消失（1：該当）",
		},
	},
}
