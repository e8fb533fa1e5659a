// A unit of the large program: UNIT is its namespace.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>
namespace UNIT {
struct Traits : std::regex_traits<char> {}; // so that the code of <regex> is this unit's own
struct Key { std::string a; int b; bool operator<(const Key &o) const { return std::tie(a, b) < std::tie(o.a, o.b); } };
struct Value { std::vector<Key> keys; std::shared_ptr<Value> next; std::function<int(int)> f; };
std::map<Key, Value> table;
std::unordered_map<std::string, std::set<Key>> index;
int work(int n) {
    std::basic_regex<char, Traits> re("([a-z]+)-([0-9]+)");
    std::stringstream s;
    for (int i = 0; i < n; i++) {
        Key k{std::to_string(i), i};
        auto &v = table[k];
        v.keys.push_back(k);
        v.f = [=](int x) { return x + i; };
        index[k.a].insert(k);
        s << k.a << '-' << i << ' ';
        std::smatch m;
        std::string t = s.str();
        if (std::regex_search(t, m, re)) n += m.size();
    }
    std::vector<Key> all;
    for (auto &p : table) all.insert(all.end(), p.second.keys.begin(), p.second.keys.end());
    std::stable_sort(all.begin(), all.end(), [](auto &a, auto &b) { return b < a; });
    for (auto &e : std::filesystem::recursive_directory_iterator(".")) index[e.path().string()].insert(all[0]);
    return all.size() + table.begin()->second.f(n);
}
}
