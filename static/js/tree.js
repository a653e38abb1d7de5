// Where each agent of a lineage stands: its depth, and a row of its own line. Knows no DOM.

// Agents by id with their children, in the order of creation; a child hangs on the agent whose weights it goes on with.
export function grown(agents) {
  const nodes = new Map(agents.map((agent) => [agent.id, { ...agent, children: [], parent: null }]));
  for (const node of nodes.values()) {
    node.parent = nodes.get(node.inherits_from) ?? null;
    node.parent?.children.push(node);
    node.level = node.parent ? node.parent.level + 1 : 0;
  }
  return nodes;
}

// From the founder to the agent.
export function lineOf(node) {
  const line = [];
  for (let one = node; one; one = one.parent) line.unshift(one);
  return line;
}

// Ids of those that a short tree shows: the leaderboard's lines, those that train, and who was asked for.
export function chosen(nodes, opened) {
  const kept = new Set();
  for (const node of nodes.values()) {
    const asked = node.rank !== null || node.status === "RUNNING" || opened.has(node.parent?.id);
    for (let one = asked ? node : null; one && !kept.has(one.id); one = one.parent) kept.add(one.id);
  }
  return kept;
}

// Give every node that is kept its row, leaves one below the other and parents amid their children; answers how many rows.
export function arrange(nodes, kept) {
  let rows = 0;
  const stack = [...nodes.values()].filter((node) => !node.parent && kept.has(node.id)).reverse().map((node) => [node, false]);
  while (stack.length) {
    const [node, done] = stack.pop();
    node.shown = node.children.filter((child) => kept.has(child.id));
    if (!node.shown.length) node.row = rows++;
    else if (done) node.row = (node.shown[0].row + node.shown.at(-1).row) / 2;
    else {
      stack.push([node, true]);
      for (let index = node.shown.length - 1; index >= 0; index -= 1) stack.push([node.shown[index], false]);
    }
    node.hidden = node.children.length - node.shown.length;
  }
  return rows;
}
