// Sums of the durations in a range of time.

// Returns {name, isOperation, count, total, self, median} for each name of durations that overlap
// a range, the greatest total first. Totals and self times are within the range, medians are those
// of the full durations. Operations have no self time: their children run at the same time.
function sumRange(scene, {from, to, rows}) {
  const labels = scene.data.labels.length;
  const sums = [new Sums(labels), new Sums(labels)];
  for (const row of rows) {
    const own = sums[row.kind === KIND.operation ? 1 : 0];
    row.lanes.forEach((lane, number) => own.lane(lane.columns, from, to));
    if (row.kind === KIND.thread) row.lanes.slice(1).forEach((lane, number) => own.children(row.lanes[number].columns, lane.columns, from, to));
  }
  return sums.flatMap((sum, isOperation) => sum.list(isOperation === 1)).sort((a, b) => b.total - a.total);
}

// Sums by label.
class Sums {
  constructor(labels) {
    this.count = new Uint32Array(labels);
    this.total = new Float64Array(labels);
    this.inChildren = new Float64Array(labels);
    this.parts = [];
  }

  lane(columns, from, to) {
    const {begin, end, label} = columns, first = lowerBound(end, from);
    let place = first;
    for (; place < begin.length && begin[place] <= to; place++) {
      this.count[label[place]]++;
      this.total[label[place]] += Math.min(end[place], to) - Math.max(begin[place], from);
    }
    this.parts.push([columns, first, place]);
  }

  // Adds the time of children to their parents in the lane above.
  children(parents, {begin, end}, from, to) {
    let parent = 0;
    for (let child = lowerBound(end, from); child < begin.length && begin[child] <= to; child++) {
      parent = gallop(parents.end, begin[child], parent);
      while (parent + 1 < parents.begin.length && parents.begin[parent + 1] <= begin[child]) parent++;
      if (parent === parents.begin.length) return;
      const time = Math.min(end[child], parents.end[parent], to) - Math.max(begin[child], from);
      this.inChildren[parents.label[parent]] += Math.max(time, 0);
    }
  }

  list(isOperation) {
    const lengths = this.lengths();
    return [...this.count.keys()].filter((label) => this.count[label]).map((label) => ({
      label, isOperation, count: this.count[label], total: this.total[label],
      self: isOperation ? null : this.total[label] - this.inChildren[label], median: median(lengths[label]),
    }));
  }

  // Returns the lengths of the full durations by label.
  lengths() {
    const lengths = [...this.count].map((count) => count ? new Float64Array(count) : null);
    const used = new Uint32Array(this.count.length);
    for (const [{begin, end, label}, first, last] of this.parts) {
      for (let place = first; place < last; place++) lengths[label[place]][used[label[place]]++] = end[place] - begin[place];
    }
    return lengths;
  }
}

function median(lengths) { return lengths.sort()[(lengths.length - 1) >> 1]; }
