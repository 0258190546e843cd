import type { Words } from "../words";

export const ended: Words["ended"] = {
  title: "終了した配信",
  day: "日",
  outcome: "終わり方",
  outcomes: { all: "すべて", completed: "配信終了", stopped: "監視を終了", error: "監視が失敗" },
  channel: "チャンネル",
  anyChannel: "すべて",
  search: "名前またはアドレス",
  find: "検索",
  columns: { stream: "配信", ended: "終了", outcome: "終わり方", began: "登録" },
  none: "該当する配信はありません。",
  kept: "保存期間内の配信を検索できます。",
  more: "以前の配信を表示",
};
