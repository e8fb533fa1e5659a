// Containers of libc++ whose memory is nonsense.
#include <map>
#include <string>
#include <list>
#include <vector>
#include <unordered_map>
#include <deque>
#include <memory>
#include <cstdio>
#include <cstring>
// Classes of libc++'s names that have none of its members, or only the first of them.
namespace std { namespace __7 {
template <class T> struct basic_string { struct { T x; } __r_; };
template <class T> struct unordered_map { struct { T x; } __table_; };
template <class T> struct variant { struct { T x; } __impl_; };
template <class T> struct map { struct { T x; } __tree_; };
template <class T> struct shared_ptr { T *__ptr_; };
template <class T> struct deque { T x; };
} }
int main() {
  std::__7::basic_string<char> other_s{}; std::__7::unordered_map<int> other_u{}; std::__7::variant<int> other_v{}; std::__7::map<int> other_m{}; std::__7::shared_ptr<int> other_p{}; std::__7::deque<int> other_d{};
  std::string s, s2 = std::string(100,'y'); std::map<int,int> m{{1,2}}, m2; std::list<int> l{1}; std::vector<int> v{1}; std::unordered_map<int,int> u{{1,2}}; std::deque<int> d{1}; std::shared_ptr<int> p = std::make_shared<int>(1);
  memset((void*)&s, 0xff, sizeof s); ((size_t*)&s2)[1] = 1ull << 60; memset((void*)&m2, 0x41, sizeof m2); ((size_t*)&m)[2] = 1ull<<40; ((size_t*)&l)[2] = 1ull << 50; ((size_t*)&v)[1] = ~0ull; ((size_t*)&u)[3] = 1ull<<40; memset((void*)&d, 0xee, sizeof d); ((size_t*)&p)[1] = 0x1234;
  puts("x"); // stop
  other_s.__r_.x = other_u.__table_.x + other_v.__impl_.x + other_m.__tree_.x + other_d.x; puts((char *)other_p.__ptr_);
  _Exit(0);
}
