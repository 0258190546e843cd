import assert from "node:assert/strict";
import { test } from "node:test";

const page = { location: new URL("http://gateway/?label=team:a&label=show:%E6%9C%9D:2&view=rows"), localStorage: { getItem: () => null, setItem: () => {} }, addEventListener: () => {}, document: {} };
for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, configurable: true });

test("the address has the labels that are wanted, and keeps the rest when one changes", async () => {
  const { hasLabels, wantedLabels, withLabel } = await import("../../src/labels");
  assert.deepEqual(wantedLabels(), { team: "a", show: "朝:2" });
  assert.deepEqual(wantedLabels(new URLSearchParams("label=team&label=:a&label=team:&label=x:1&label=x:2")), { x: "2" });
  assert.equal(decodeURIComponent(withLabel("team", "b")), "/?view=rows&label=show:朝:2&label=team:b");
  assert.equal(decodeURIComponent(withLabel("show", null)), "/?view=rows&label=team:a");
  assert.equal(withLabel("team", null, "/incidents", new URLSearchParams("label=team:a")), "/incidents");
  assert.ok(hasLabels({ labels: { team: "a", show: "朝:2", more: "x" } }, wantedLabels()));
  for (const of of [{ labels: { team: "a" } }, { labels: { team: "A", show: "朝:2" } }, {}, null]) assert.ok(!hasLabels(of, wantedLabels()));
  assert.ok(hasLabels(null, {}));
});

test("groups are in the order of their values, those without one last, and too many are one", async () => {
  const { grouped, known, valueOf } = await import("../../src/labels");
  const all = [{ labels: { team: "b" } }, { labels: {} }, { labels: { team: "a" } }, {}, { labels: { team: "b", show: "x" } }];
  assert.deepEqual(grouped(all, (one) => valueOf(one, "team")).map(([value, of]) => [value, of.length]), [["a", 1], ["b", 2], ["", 2]]);
  const many = Array.from({ length: 100 }, (_, n) => ({ labels: { nr: String(n).padStart(3, "0") } }));
  const groups = grouped(many, (one) => valueOf(one, "nr"));
  assert.deepEqual([groups.length, groups[28]![0], groups[29]![0], groups[29]![1].length], [30, "028", "", 71]);
  assert.deepEqual([...known([...all, null])], [["show", ["x"]], ["team", ["a", "b"]]]);
});

test("labels are typed one a line, and a change names what differs", async () => {
  const { labelChange, labelsText, labelsTyped } = await import("../../src/labels");
  const labels = { team: "a, b", show: "朝=1" };
  assert.deepEqual(labelsTyped(labelsText(labels)), labels);
  assert.deepEqual(labelsTyped("\n team = a \r\nshow\n\n"), { team: "a", show: "" }, "the gateway says what is wrong with a label without a value");
  assert.deepEqual(labelChange(labels, { team: "b", site: "x" }), { show: null, team: "b", site: "x" });
  assert.equal(labelChange(labels, { ...labels }), undefined);
});

test("a view of the same name is replaced", async () => {
  const { saved } = await import("../../src/views");
  const views = saved(saved(saved([], { name: "夜", address: "/" }), { name: "a", address: "/?group=team" }), { name: "夜", address: "/?view=rows" });
  assert.deepEqual(views, [{ name: "a", address: "/?group=team" }, { name: "夜", address: "/?view=rows" }]);
});
