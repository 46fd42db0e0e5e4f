// The part in C++.
#include "parts.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <trace.h>

size_t longest_word(const char *text) {
    TRACE_DURATION("ranking", "longest");
    std::istringstream words{text};
    std::string word, longest;
    while (words >> word) {
        if (word.size() > longest.size()) {
            TRACE_INSTANT("ranking", "longer", TRACE_SCOPE_THREAD, "word", word, "length", word.size());
            longest = word;
        }
    }
    return longest.size();
}
