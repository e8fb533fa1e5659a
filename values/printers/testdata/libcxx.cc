// Containers of libc++.
#include <array>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
struct Big { double d; char c; };
__attribute__((noinline)) static void use(const void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
template <class... T> static void useAll(const T &...t) { (use(&t), ...); }
int main() {
  std::string s = "hello", empty, longs(40, 'x');
  std::wstring ws = L"wide";
  std::string_view sv = "view";
  std::vector<int> v{1, 2, 3}, none;
  std::vector<std::string> vs{"a", "b"};
  std::vector<bool> vb{true, false, true};
  std::map<int, std::string> m{{1, "one"}, {2, "two"}, {3, "three"}};
  std::map<std::string, Big> mb{{"k", {1.5, 'c'}}};
  std::set<char> sc{'a', 'b'};
  std::set<int> si{3, 1, 2};
  std::multiset<long> sl{7, 7};
  std::unordered_map<std::string, int> um{{"x", 1}};
  std::unordered_set<int> us{42};
  std::unique_ptr<int> up(new int(5)), upn;
  std::shared_ptr<int> shp = std::make_shared<int>(6), shn;
  std::weak_ptr<int> wp = shp;
  std::weak_ptr<int> gone = std::make_shared<int>(1);
  std::optional<int> o1 = 4, o2;
  std::variant<int, std::string, double> va = std::string("vv"), vd = 2.5;
  std::pair<int, double> pr{1, 2.5};
  std::tuple<int, char, std::string> tp{1, 'c', "t"};
  std::array<int, 3> ar{7, 8, 9};
  std::list<int> li{1, 2}, le;
  std::deque<int> dq;
  for (int i = 0; i < 2000; i++) dq.push_back(i);
  dq.pop_front();
  useAll(s, empty, longs, ws, sv, v, none, vs, vb, m, mb, sc, si, sl, um, us, up, upn, shp, shn, wp, gone, o1, o2, va, vd, pr, tp, ar, li, le, dq); // stop
  puts(s.c_str());
}
