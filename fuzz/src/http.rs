//! Target: a request for a page, as it arrives in pieces. The first byte says whether a token is needed.

use tidegate_control::http::path_of;

/// Reads one request; true if it would get a page, if there is one of its path.
pub fn run(input: &[u8]) -> bool {
    let Some((&first, request)) = input.split_first() else { return false };
    let token = (first % 2 == 1).then_some("0123456789abcdef");
    let answer = path_of(request, token);
    if let Some(answer) = &answer {
        if let Err((status, reason)) = answer {
            assert!((400..500).contains(status) && !reason.is_empty());
        }
        // The answer is the same however long the server goes on reading, and no shorter part was a request.
        assert_eq!(path_of(&[request, b"more"].concat(), token).map(|later| later.is_ok()), Some(answer.is_ok()));
    } else {
        let part = &request[..request.len() / 2];
        assert_eq!(path_of(part, token), None, "half of a part is not more than the part");
    }
    matches!(answer, Some(Ok(_)))
}
