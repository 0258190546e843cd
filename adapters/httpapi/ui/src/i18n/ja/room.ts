import type { Words } from "../words";

export const room: Words["room"] = {
  more: (n) => `ほかに障害${n}件`,
  controls: "この画面",
  screen: "画面の大きさ（3mから読むとき）",
  inches: (n) => `${n}型`,
  sound: "通知音",
  full: "全画面",
  leave: "終了",
  quietUntil: (time, least) => `${time}まで静かな時間帯：${least ? `${least}以上だけ鳴ります` : "鳴りません"}`,
  mayGoDark: "画面が消えることがあります（画面の維持はhttpsでのみ働きます）",
};
