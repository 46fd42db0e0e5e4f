use super::*;

fn operation(begin: u64, end: u64, label: u32, id: u64, parent: Option<u64>) -> Operation {
    let slice = Slice { begin, end, label: LabelId(label), arguments: 0, order: 0, is_open: false };
    Operation { slice, id, parent }
}

/// The label of a row's roots, and its lanes: the id and the lanes below the parent.
type Row = (u32, Vec<Vec<(u64, u32)>>);

fn rows(operations: &[Operation]) -> Vec<Row> {
    let lane =
        |lane: Vec<Identity>| lane.iter().map(|identity| (identity.id, identity.above)).collect();
    let row = |(label, lanes): (LabelId, Lanes)| {
        (label.0, lanes.identities.into_iter().map(lane).collect())
    };
    forest(operations.to_vec()).rows.into_iter().map(row).collect()
}

#[test]
fn children_are_below_their_parents() {
    let (request, user, query) = (1, 2, 3);
    let operations = [
        // Children come before their parents.
        operation(30, 40, query, 12, Some(11)),
        operation(50, 60, query, 13, Some(11)),
        operation(20, 70, user, 11, Some(10)),
        operation(10, 80, request, 10, None),
        // A second request, at the same time.
        operation(15, 90, request, 20, None),
        operation(25, 95, user, 21, Some(20)),
        operation(26, 97, query, 22, Some(21)),
        // A third one, after both.
        operation(100, 110, request, 30, None),
        operation(100, 120, user, 31, Some(30)),
        operation(101, 121, query, 32, Some(31)),
    ];
    let lanes = vec![
        vec![(10, 0), (30, 0)],
        vec![(11, 1), (31, 1)],
        vec![(12, 1), (13, 1), (32, 1)],
        vec![(20, 0)],
        vec![(21, 1)],
        vec![(22, 1)],
    ];
    assert_eq!(rows(&operations), [(request, lanes)]);
}

#[test]
fn siblings_at_one_time_are_in_lanes() {
    let operations = [
        operation(0, 100, 1, 1, None),
        operation(10, 40, 2, 2, Some(1)),
        operation(20, 50, 2, 3, Some(1)),
        operation(40, 60, 2, 4, Some(1)),
    ];
    let lanes = vec![vec![(1, 0)], vec![(2, 1), (4, 1)], vec![(3, 2)]];
    assert_eq!(rows(&operations), [(1, lanes)]);
}

#[test]
fn operations_of_one_id_are_nested_by_time() {
    let operations = [
        operation(0, 100, 1, 7, None),
        operation(10, 20, 2, 7, None),
        operation(30, 40, 3, 7, None),
        operation(200, 210, 3, 7, None),
    ];
    let nested = vec![vec![(7, 0)], vec![(7, 1), (7, 1)]];
    assert_eq!(rows(&operations), [(1, nested), (3, vec![vec![(7, 0)]])]);
}

#[test]
fn a_circle_of_parents_is_broken() {
    let operations = [operation(0, 9, 1, 1, Some(2)), operation(1, 8, 2, 2, Some(1))];
    assert_eq!(rows(&operations), [(1, vec![vec![(1, 0)], vec![(2, 1)]])]);
    let own = [operation(0, 9, 1, 1, Some(1))];
    assert_eq!(rows(&own), [(1, vec![vec![(1, 0)]])]);
}

proptest::proptest! {
    /// The page finds the parent of a slice as the last one of its lane that does not begin later.
    #[test]
    fn the_parent_is_found_by_time(list in proptest::collection::vec((0u64..40, 0u64..20, 0u64..6), 1..40)) {
        let operations: Vec<Operation> = list
            .iter()
            .zip(1u64..)
            .map(|((begin, length, parent), id)| operation(*begin, begin + length, 1, id, Some(*parent)))
            .collect();
        let mut count = 0;
        for lanes in forest(operations.clone()).rows.into_values() {
            for (number, lane) in lanes.slices.iter().enumerate() {
                count += lane.len();
                let ends = lane.windows(2).all(|pair| pair[0].end <= pair[1].begin);
                proptest::prop_assert!(ends, "slices overlap");
                for (slice, identity) in lane.iter().zip(&lanes.identities[number]) {
                    let Identity { id, above, .. } = *identity;
                    let parent = list[id as usize - 1].2;
                    if above == 0 {
                        continue;
                    }
                    let of_parent = number - above as usize;
                    let place = lanes.slices[of_parent].partition_point(|other| other.begin <= slice.begin);
                    proptest::prop_assert_eq!(lanes.identities[of_parent][place - 1].id, parent);
                }
            }
        }
        proptest::prop_assert_eq!(count, operations.len());
    }
}
