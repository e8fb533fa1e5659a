#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
#include <map>
#include <set>
#include <unordered_map>
#include <memory>
#include <optional>
#include <variant>
#include <tuple>
#include <array>
#include <list>
#include <deque>
namespace ns { static const double pi = 3.25; constexpr bool yes = true; constexpr float half = 0.5f; int counter = 7; enum class Kind : unsigned char { A, B = 4 }; enum Plain { P1, P2 };
template <typename T> struct Box { T val; static int made; T get() const { return val; } };
template <typename T> int Box<T>::made = 3; namespace { int hidden = 11; } }
struct Shape { int id = 1; virtual ~Shape() {} virtual double area() const = 0; protected: int prot = 2; };
struct Named { std::string name; };
class Circle : public Shape, private Named { double r; public: static const int limit = 10; mutable int hits = 0; ns::Kind k = ns::Kind::B; typedef int self; Circle(double r) : r(r) { name = "circle"; } double area() const override; int sum(int a, const std::string& s); operator bool() const { return true; } };
struct V0 { int v = 100; }; struct V1 : virtual V0 { int a = 1; }; struct V2 : virtual V0 { int b = 2; }; struct Dia : V1, V2 { int c = 3; };
double Circle::area() const { hits++; return r * r; }
int Circle::sum(int a, const std::string& s) { int local = a + (int)s.size() + limit; local += hits; return local; }
int use(Circle& c, const Shape* sp, int&& rv, Dia& dia) {
  std::string s = "hello", empty, longs(40, 'x'); std::string_view sv = "view"; 
  std::vector<int> v{1,2,3}; std::vector<std::string> vs{"a","b"}; std::vector<bool> vb{true,false,true};
  std::map<int,std::string> m{{1,"one"},{2,"two"}}; std::map<std::string,int> ms{{"k",1}}; std::set<int> st{5,3,9}; std::unordered_map<std::string,int> um{{"x",1}};
  std::unique_ptr<int> up(new int(5)); std::shared_ptr<int> shp = std::make_shared<int>(6); std::weak_ptr<int> wp = shp; std::unique_ptr<Circle> upn;
  std::optional<int> o1 = 4, o2; std::variant<int,std::string> va = std::string("vv"); std::pair<int,double> pr{1,2.5}; std::tuple<int,char,std::string> tp{1,'c',"t"};
  std::array<int,3> ar{7,8,9}; std::list<int> li{1,2}; std::deque<int> dq{4,5}; 
  ns::Box<int> bi{5}; ns::Kind kind = ns::Kind::A; ns::Plain pl = ns::P2; int Circle::*pm = nullptr; double (Circle::*pmf)() const = &Circle::area; bool flag = true; char16_t c16 = u'x'; auto lam = [&s, flag](int q) { return q + (int)s.size() + flag; };
  int V2::*pb = &V2::b; std::nullptr_t np = nullptr; std::vector<std::vector<int>> vv{{1},{2,3}}; const char* cs = "cstr";
  int total = c.sum(3, s) + lam(2) + rv + ns::hidden + (int)sp->area() + dia.c + ns::counter + (int)bi.get() + (int)kind + pl + (pmf != 0) + flag + c16 + (pm == nullptr) + dia.*pb;
  return total + int(ns::pi + ns::yes + ns::half); // stop
}
int main() { Circle c(2.0); Dia d; printf("%d\n", use(c, &c, 5, d)); return ns::Box<int>::made; }
