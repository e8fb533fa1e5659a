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
int main() {
  std::string s, s2 = std::string(100,'y'); std::map<int,int> m{{1,2}}, m2; std::list<int> l{1}; std::vector<int> v{1}; std::unordered_map<int,int> u{{1,2}}; std::deque<int> d{1}; std::shared_ptr<int> p = std::make_shared<int>(1);
  memset((void*)&s, 0xff, sizeof s); ((size_t*)&s2)[1] = 1ull << 60; memset((void*)&m2, 0x41, sizeof m2); ((size_t*)&m)[2] = 1ull<<40; ((size_t*)&l)[2] = 1ull << 50; ((size_t*)&v)[1] = ~0ull; ((size_t*)&u)[3] = 1ull<<40; memset((void*)&d, 0xee, sizeof d); ((size_t*)&p)[1] = 0x1234;
  puts("x"); // stop
  _Exit(0);
}
